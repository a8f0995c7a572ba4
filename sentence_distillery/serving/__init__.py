"""A page to look at a student and its texts, and OpenAI's interface for embeddings, on this machine alone.

collection.py   the texts with their vectors: neighbours, a map
words.py        how a student reads a text: known words, cut ones, unknown ones
embeddings.py   POST /v1/embeddings and GET /v1/models
guard.py        who may ask: this machine, this page, and whoever has the key
app.py          the routes
server.py       the server and its limits
page/           HTML, CSS and JavaScript of the page
"""
