"""Counts the words of a text, and encodes its lines as word ids.

Input: a corpus of any kind (`Corpus`) and how to read it. Output: a `Vocab` and an `EncodedCorpus`: int32
word ids with -1 after each line, memory-mapped or read again in each pass.
"""

# What this face imports is what it hands out:
# mypy: implicit-reexport
# ruff: noqa: F401

from wordvec_ca.corpus.cache import identity_of
from wordvec_ca.corpus.collocations import find_phrases, save_phrases
from wordvec_ca.corpus.documents import DocumentLines, DocumentStarts, DocumentTags, Tag
from wordvec_ca.corpus.encode import (
    EncodedCorpus,
    TokenStream,
    count_corpus,
    encode_corpus,
    reopen_corpus,
    stream_corpus,
    write_vocabulary,
)
from wordvec_ca.corpus.neighbouring_lines import likeness_of_neighbours
from wordvec_ca.corpus.options import TextOptions, fields_of_training
from wordvec_ca.corpus.phrases import Phrases
from wordvec_ca.corpus.reading import NoWords, ReadingProgress
from wordvec_ca.corpus.source import Corpus, Source, sessions_of
from wordvec_ca.corpus.stats import CorpusStats
from wordvec_ca.corpus.token_lists import (
    LiveTokens,
    ScannedCorpus,
    ScannedDocuments,
    count_token_lists,
    fingerprint,
    scan_documents,
    scan_text,
    scan_token_lists,
)
from wordvec_ca.corpus.type_parts import (
    count_in_parts,
    gathered_vocab,
    least_count,
    merge_types,
    types_by_count,
)
from wordvec_ca.corpus.vocab import NothingLeft, Vocab
from wordvec_ca.text import Sessions
