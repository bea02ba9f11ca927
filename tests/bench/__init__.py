"""`make bench`: how fast a claim and its outcome are, beside plain statements and a peer, in one run."""
