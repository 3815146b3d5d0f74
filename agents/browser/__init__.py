"""What ``agents/board.py`` is made of: a page in the browser on which people and agents play, and its server.

The server keeps no games. A tab sends all that it knows of its own, its ``State``, with every request, and gets the
next state and the page's new content back: tabs cannot disturb each other, and a restart of the server loses nothing.
"""
