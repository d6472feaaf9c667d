"""Bars over a network: of exchanges, and of the vendor Polygon, which is now called Massive.

paging.py       pages to all bars of a range, from any kind of exchange
series.py       a range of one series from the cache, the missing part over the network, in pieces
client.py       pace and retries of calls; Polygon: its account, and one call by its own client
"""
