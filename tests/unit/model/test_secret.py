"""A secret in our own hands shows itself to nobody but who asks for it by name."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import pprint
import traceback

import pytest

from redoma.model.grant import Secret
from redoma.model.value import Value

pytestmark = pytest.mark.requirement("S10")
VALUE = "tok-5f2c81d09b7e"


class Holder(Value):
    secret: Secret


def test_no_way_of_printing_shows_it(caplog: pytest.LogCaptureFixture) -> None:
    secret = Secret(VALUE)
    with caplog.at_level(logging.INFO):
        logging.getLogger("here").info("%s %r", secret, secret)
    said = [
        *(repr(secret), str(secret), f"{secret}", f"{secret:>40}", "%s %r" % (secret, secret)),  # noqa: UP031
        *(f"{[secret]} {({'a': secret},)}", pprint.pformat([secret]), caplog.text),
        *(repr(Holder(secret=secret)), f"{secret!s:.99}"),
    ]
    assert [text for text in said if VALUE in text] == []
    assert secret.reveal() == VALUE


@pytest.mark.parametrize("write", [pickle.dumps, copy.copy, copy.deepcopy, json.dumps])
def test_nothing_that_copies_or_writes_values_takes_it(write: object) -> None:
    for value in (Secret(VALUE), [Secret(VALUE)]):
        if write is copy.copy and isinstance(value, list):
            continue  # a list of the same secret: nothing of it was copied
        with pytest.raises(TypeError) as caught:
            write(value)  # type: ignore[operator]
        assert VALUE not in str(caught.value)


def test_a_traceback_with_its_local_variables_does_not_show_it() -> None:
    def fails(secret: Secret) -> None:
        kept = {"password": secret}
        raise ValueError(f"not with {kept}")

    try:
        fails(Secret(VALUE))
    except ValueError as error:
        shown = "".join(
            traceback.TracebackException.from_exception(error, capture_locals=True).format()
        )
    assert "Secret(…)" in shown
    assert VALUE not in shown


def test_whoever_walks_its_attributes_does_not_come_to_it() -> None:
    secret = Secret(VALUE)
    assert VALUE not in repr([getattr(secret, name) for name in dir(secret)])
    assert not hasattr(secret, "__dict__")
    with pytest.raises(AttributeError):
        secret.reveal = lambda: "another"
