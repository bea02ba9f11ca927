"""Screens: who, what, form, action, answer."""
