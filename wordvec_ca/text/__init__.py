"""Raw text as a stream of lines and tokens.

Input: paths, patterns, URLs, open streams; plain or compressed text in any encoding, JSON lines, tables,
Wikipedia dumps. Output: blocks of UTF-8 text cut at line ends, in bounded memory, and tokens. This package
does not count words.
"""

from wordvec_ca.text.blocks import (
    BLOCK_BYTES,
    ReadText,
    TokenLines,
    cut_into_blocks,
    line_pieces,
)
from wordvec_ca.text.documents import WAYS, Documents, Line, check_group_by, located_lines
from wordvec_ca.text.embedded import articles, docstrings
from wordvec_ca.text.encodings import check_encoding, too_many_undecodable, words_in, wrong_encoding
from wordvec_ca.text.frames import column_values, frame_texts, is_frame
from wordvec_ca.text.markup_library import markup_version
from wordvec_ca.text.normal_forms import in_normal_form, normal_word, twins, with_ligatures
from wordvec_ca.text.parallel import in_order, prompt_exit
from wordvec_ca.text.reader import TextFiles
from wordvec_ca.text.records import Records, field_names, fields_with_text, object_texts
from wordvec_ca.text.remote import set_retry_timeout, url_identity
from wordvec_ca.text.scripts import watched
from wordvec_ca.text.segmenters import is_segmenter, segmenter_version, trusted_tokenizer
from wordvec_ca.text.segmenting_processes import SegmentingProcesses
from wordvec_ca.text.sessions import AS_READ, Events, Sessions, check_test_last
from wordvec_ca.text.sources import find_files, is_stream
from wordvec_ca.text.tokenizer import TOKENIZERS, KnownWords, check_tokenizer, is_words, tokenize

__all__ = [
    "AS_READ",
    "BLOCK_BYTES",
    "TOKENIZERS",
    "WAYS",
    "Documents",
    "Events",
    "KnownWords",
    "Line",
    "ReadText",
    "Records",
    "SegmentingProcesses",
    "Sessions",
    "TextFiles",
    "TokenLines",
    "articles",
    "check_encoding",
    "check_group_by",
    "check_test_last",
    "check_tokenizer",
    "column_values",
    "cut_into_blocks",
    "docstrings",
    "field_names",
    "fields_with_text",
    "find_files",
    "frame_texts",
    "in_normal_form",
    "in_order",
    "is_frame",
    "is_segmenter",
    "is_stream",
    "is_words",
    "line_pieces",
    "located_lines",
    "markup_version",
    "normal_word",
    "object_texts",
    "prompt_exit",
    "segmenter_version",
    "set_retry_timeout",
    "tokenize",
    "too_many_undecodable",
    "trusted_tokenizer",
    "twins",
    "url_identity",
    "watched",
    "with_ligatures",
    "words_in",
    "wrong_encoding",
]
