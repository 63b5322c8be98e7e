"""Where trusted documents come from, as ``doc_sources`` declares it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from agentguard.gate.config_section import Section, Text, check_url

__all__ = ["HttpSource", "LocalSource", "S3Source", "Source"]


class LocalSource(Section):
    """A file, or a folder with all below it.

    Attributes:
        path: relative to the configuration's folder, and inside of it unless ``--root`` allows more.
        include: glob patterns of the files taken; all kinds that can be read where there are none.
    """

    type: Literal["local"]
    path: Text
    include: tuple[Text, ...] = ()


class HttpSource(Section):
    """Pages, by their addresses.

    Attributes:
        url, urls: one address or several; nothing they link to is followed.
        allow_private: whether addresses of a private network may be asked.
    """

    type: Literal["http", "https", "url"]
    url: Text | None = None
    urls: tuple[Text, ...] = ()
    allow_private: Annotated[bool, Field(strict=True)] = False

    @model_validator(mode="after")
    def _addressed(self) -> HttpSource:
        if not self.addresses:
            raise ValueError("needs a url, or urls")
        for address in self.addresses:
            check_url(address)
        return self

    @property
    def addresses(self) -> tuple[str, ...]:
        """All addresses, in their order."""
        return (*(() if self.url is None else (self.url,)), *self.urls)


class S3Source(Section):
    """The objects of a bucket whose keys begin with a prefix.

    Attributes:
        bucket, prefix: which objects.
        region, endpoint_url: where the bucket is, where that is not what the environment says.
    """

    type: Literal["s3"]
    bucket: Text
    prefix: str = ""
    region: Text | None = None
    endpoint_url: Text | None = None


Source = Annotated[LocalSource | HttpSource | S3Source, Field(discriminator="type")]
