"""Settings, addresses and the processes that make one Tieout; nothing imports it."""
