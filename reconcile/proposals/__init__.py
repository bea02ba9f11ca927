"""Rules and roles change by two: one proposes, another one approves, and then it is done, all or nothing."""
