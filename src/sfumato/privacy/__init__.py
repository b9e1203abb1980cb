"""Accounts: what may be promised, what it costs, and where it is booked."""
