"""P13: reading documents, killed anywhere and run again, ends with every card once: nothing lost, nothing doubled."""

import os

import pytest

from tests.crash.test_documents_stopped import STATES, stop_everywhere

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.mark.parametrize("state", STATES)
def test_promise_13_documents_killed_while_they_are_read(tmp_path, state):
    assert stop_everywhere(tmp_path, state, by_model=True, power=True, stride=23) > 0
