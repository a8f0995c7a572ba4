"""Connections of a crawl: never into a private network, even if a name resolves to one, and never repeated by Twisted.

A name is checked when it is resolved for the connection that is made: a name server that answers once with a public and
then with a private address (DNS rebinding) gains nothing.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.crawler import Crawler
from scrapy.resolver import CachingHostnameResolver
from twisted.internet.interfaces import IAddress, IHostResolution, IResolutionReceiver
from zope.interface.declarations import implementer  # type: ignore[import-untyped]

from news_crawler.policy import is_public


class PublicResolver(CachingHostnameResolver):
    """Resolve names to public addresses only, except for hosts that may have private ones."""

    allowed: ClassVar[frozenset[str]] = frozenset()
    refused: ClassVar[set[str]] = set()

    def resolveHostName(  # noqa: N802 - Twisted's name
        self,
        resolutionReceiver: Any,  # noqa: N803
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: N803
        addressTypes: Sequence[type[IAddress]] | None = None,  # noqa: N803
        transportSemantics: str = "TCP",  # noqa: N803
    ) -> Any:
        receiver: Any = resolutionReceiver if hostName in self.allowed else _PublicOnly(resolutionReceiver, hostName)
        return super().resolveHostName(receiver, hostName, portNumber, addressTypes, transportSemantics)


@implementer(IResolutionReceiver)
class _PublicOnly:
    def __init__(self, receiver: Any, name: str) -> None:
        self._receiver = receiver
        self._name = name

    def resolutionBegan(self, resolutionInProgress: IHostResolution) -> None:  # noqa: N802, N803
        self._receiver.resolutionBegan(resolutionInProgress)

    def addressResolved(self, address: Any) -> None:  # noqa: N802
        if is_public(address.host):
            self._receiver.addressResolved(address)
        else:
            PublicResolver.refused.add(self._name)

    def resolutionComplete(self) -> None:  # noqa: N802
        self._receiver.resolutionComplete()


class SingleRequestHandler(HTTP11DownloadHandler):
    """HTTP without Twisted's automatic retry, which would bypass the gate."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._pool.retryAutomatically = False
