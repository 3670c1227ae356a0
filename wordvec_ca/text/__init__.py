"""Raw text as a stream of lines and tokens.

Input: paths, patterns, URLs, open streams; plain or compressed text in any encoding, JSON lines, tables,
Wikipedia dumps. Output: blocks of UTF-8 text cut at line ends, in bounded memory, and tokens. This package
does not count words.
"""

# What this face imports is what it hands out:
# mypy: implicit-reexport
# ruff: noqa: F401

from wordvec_ca.text.answering_processes import in_order, prompt_exit
from wordvec_ca.text.blocks import (
    BLOCK_BYTES,
    JOIN,
    ReadText,
    TokenLines,
    cut_into_blocks,
    line_pieces,
)
from wordvec_ca.text.documents import WAYS, Documents, Line, check_group_by, located_lines
from wordvec_ca.text.embedded import articles, docstrings, markup_version
from wordvec_ca.text.encodings import (
    check_encoding,
    encoding_advice,
    too_many_undecodable,
    words_in,
    wrong_encoding,
)
from wordvec_ca.text.normal_forms import in_normal_form, normal_word, twins, with_ligatures
from wordvec_ca.text.reader import TextFiles, holds_records
from wordvec_ca.text.records import Records, field_names, fields_with_text, object_texts
from wordvec_ca.text.remote import set_retry_timeout, url_identity
from wordvec_ca.text.scripts import watched
from wordvec_ca.text.segmenters import SegmentingProcesses, is_segmenter, segmenter_version, trusted_tokenizer
from wordvec_ca.text.sessions import Events, Sessions, check_test_last
from wordvec_ca.text.sources import find_files, is_stream
from wordvec_ca.text.tables import column_values, frame_texts, is_frame
from wordvec_ca.text.tokenizer import TOKENIZERS, KnownWords, check_tokenizer, is_words, tokenize
