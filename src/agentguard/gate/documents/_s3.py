"""List and read documents in a bucket of S3, or of a store that speaks its protocol."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from agentguard.errors import ConfigurationError, DataError
from agentguard.gate._config import S3Source
from agentguard.gate.documents._text import ENDINGS, MAX_BYTES, Found, LeftOut, Listing, Raw, kind_of

_CLIENT = {"connect_timeout": 10, "read_timeout": 30, "retries": {"mode": "standard", "max_attempts": 3}}
_PIECE = 1_000_000


def list_s3(source: S3Source, limit: int = MAX_BYTES) -> Iterator[Listing]:
    """The objects whose keys begin with the prefix, page by page, in the order that S3 gives them: by key.

    Credentials come as boto3 finds them: from the environment, shared files, or the machine's role.

    Args:
        source: Bucket and prefix.
        limit: The most bytes of an object.

    Raises:
        ConfigurationError: If no client can be made of the region or the endpoint.
    """
    try:
        client = boto3.session.Session().client(
            "s3", region_name=source.region, endpoint_url=source.endpoint_url, config=Config(**_CLIENT)
        )
    except (BotoCoreError, ValueError) as error:
        raise ConfigurationError(f"doc_sources: bucket {source.bucket}: {error}") from None
    try:
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=source.bucket, Prefix=source.prefix)
        for page in pages:
            for item in page.get("Contents", ()):
                yield _listed(client, source, item, limit)
    except (BotoCoreError, ClientError) as error:
        yield LeftOut(f"s3://{source.bucket}/{source.prefix}", f"cannot be listed: {error}", "unlisted")


def _listed(client: Any, source: S3Source, item: dict[str, Any], limit: int) -> Listing:
    key = str(item["Key"])
    uri = f"s3://{source.bucket}/{key}"
    name = key.rpartition("/")[2]
    if not name:
        return LeftOut(uri, "stands for a folder", "skipped")
    if any(part.startswith(".") for part in key.removeprefix(source.prefix).split("/")):
        return LeftOut(uri, "is hidden: a name in it begins with a dot", "skipped")
    # Only the object itself knows its media type, and where it has no ending, asking it costs one request.
    if "." in name and kind_of(name) is None:
        return LeftOut(uri, f"is of no kind that is read ({', '.join(ENDINGS)})", "skipped")
    if item.get("Size", 0) > limit:
        return LeftOut(uri, f"has {item['Size']:,} bytes, and at most {limit:,} are read", "refused")
    return Found(uri, name, partial(_read, client, source.bucket, key, limit))


def _read(client: Any, bucket: str, key: str, limit: int) -> Raw:
    try:
        answer = client.get_object(Bucket=bucket, Key=key)
        data = bytearray()
        with closing(answer["Body"]) as body:
            # Read to its end, where it is noticed whether all of it has come.
            while len(data) <= limit and (piece := body.read(_PIECE)):
                data += piece
    except (BotoCoreError, ClientError) as error:
        raise DataError(f"cannot be read: {error}") from None
    if len(data) > limit:
        raise DataError(f"has more than the {limit:,} bytes that are read")
    content_type = str(answer.get("ContentType", ""))
    _, _, charset = content_type.lower().partition("charset=")
    return Raw(bytes(data), content_type.partition(";")[0].strip().lower(), charset.strip(' ";'))
