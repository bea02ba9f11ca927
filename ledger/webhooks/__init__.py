"""Webhooks to others: the outbox is emptied by the worker, one receiver never waits for another."""
