"""Where automations come in: parse, act, answer."""
