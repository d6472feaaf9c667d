"""Bars over a network: of exchanges, and of the vendor Polygon, which is now called Massive.

paging.py       pages to all bars of a range, from any kind of exchange
calls.py        pace, retries and waits
series.py       a range of one series from the cache, the missing part over the network, in pieces
account.py      Polygon: key, address and calls a minute
client.py       one call by the vendor's own client: limits on bytes and time, no redirects
aggregates.py   its pages as bars, and days on which a market has bars
"""
