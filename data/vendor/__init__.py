"""Bars over a network: of exchanges, and of the vendor Polygon, which is now called Massive.

paging.py       pages to all bars of a range, from any kind of exchange
calls.py        pace, retries and waits
series.py       a range of one series from the cache, the missing part over the network
pieces.py       pieces of a range, and the pages of an incomplete one
account.py      Polygon: key, address and calls a minute
client.py       one call by the vendor's own client: limits on bytes and time, no redirects
aggregates.py   its pages as bars; a cut or contradictory page is an error
sessions.py     days on which a market has bars
"""
