"""Bars from the vendor that was called Polygon and is now called Massive.

account.py      key, address and calls a minute
transport.py    one call: limits on bytes and time, no redirects, what may be tried again
client.py       the vendor's own client behind one face, with pace and retries
aggregates.py   all pages of one range to arrays; what is cut or contradicts itself is an error
sessions.py     days on which a market has bars
series.py       a range of one series from the cache, and what is missing there from the vendor
"""
