"""Bars over a network: of exchanges, and of the vendor Polygon, which is now called Massive.

paging.py       pages to all bars of a range, whatever an exchange gives of what it is asked for
calls.py        pace, retries and waits
series.py       a range of one series from the cache, and what is missing there over the network
pieces.py       pieces of a range, and the pages of one that is not whole yet
account.py      Polygon: key, address and calls a minute
client.py       one call by the vendor's own client: limits on bytes and time, no redirects
aggregates.py   its pages as bars; what is cut or contradicts itself is an error
sessions.py     days on which a market has bars
"""
