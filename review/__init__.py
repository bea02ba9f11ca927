"""People: screens, permissions and decisions."""
