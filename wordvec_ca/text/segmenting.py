"""The program of a process that segments text: it reads blocks and answers with their words apart."""

from __future__ import annotations

import json
import os
import sys
from typing import IO

from wordvec_ca.errors import DataError
from wordvec_ca.text.segmenters import load_segmenter, segment
from wordvec_ca.text.segmenting_processes import FAILED, LENGTH, SEGMENTED


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Segment blocks of text until there are no more; the first request names the segmenter.

    Parameters
    ----------
    requests, answers : binary stream
        Each has its length before it; an answer begins with ``+``, or with ``!`` if it is a message.
    """
    name = ""
    while len(head := requests.read(LENGTH.size)) == LENGTH.size:
        request = requests.read(LENGTH.unpack(head)[0])
        kind = SEGMENTED
        try:
            if name:
                answer = segment(request.decode("utf-8"), name).encode("utf-8")
            else:
                name, path = json.loads(request)
                sys.path[:] = path
                load_segmenter(name)
                answer = b""
        except (DataError, UnicodeError) as error:
            kind, answer = FAILED, str(error).encode("utf-8", "replace")
        answers.write(kind + LENGTH.pack(len(answer)) + answer)
        answers.flush()


if __name__ == "__main__":
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started us ends us
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a function prints is no answer
    serve(sys.stdin.buffer, answers)
