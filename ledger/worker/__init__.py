"""The queue's supervisor, its tasks, and the sweep that finds what is due; nothing here decides."""
