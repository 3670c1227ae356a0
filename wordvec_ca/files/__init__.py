"""Files for all packages: written atomically, compressed, large.

Input: bytes, rows and paths. Output: files that appear complete or not at all (``atomic_file``,
``replacing``), the storage of a run behind a path or a URL (``Storage``), arrays that are streamed to and
mapped from ``.npy``, compressed streams, words escaped to one line, text made safe to show. This package does
not depend on word vectors.
"""

from wordvec_ca.files.atomic import atomic_file, save_json, still_named, take_lock, withdraw, write_errors
from wordvec_ca.files.checksums import (
    CHECKSUMS,
    changed_files,
    check_file,
    check_listed,
    check_sample,
    read_checksums,
    write_checksums,
)
from wordvec_ca.files.compression import (
    Content,
    PieceStream,
    compress_by_suffix,
    compression_of,
    compression_suffix,
    open_by_content,
)
from wordvec_ca.files.control_characters import json_text, terminal_text
from wordvec_ca.files.data_frames import data_frame
from wordvec_ca.files.escapes import escape_lines, unescape, unescape_lines
from wordvec_ca.files.folders import (
    check_files,
    check_output,
    clear_leftovers,
    nearest_existing,
    replacing,
    replacing_files,
)
from wordvec_ca.files.kinds import KINDS, Kind, kind_of
from wordvec_ca.files.lines import split_lines, whole_lines
from wordvec_ca.files.notebook_table import Bar, Curve, Shade, content_words, html_table
from wordvec_ca.files.npy import (
    map_npy,
    read_npy_header,
    release_pages,
    save_npy,
    write_npy,
    write_npy_pieces,
    write_npy_stream,
)
from wordvec_ca.files.opened import OpenedArray, OpenedFile, in_memory, read_whole_folder
from wordvec_ca.files.pipes import check_readable_again, is_read_once
from wordvec_ca.files.remote import absolute_name, file_system, is_transient, is_url, patiently
from wordvec_ca.files.scratch import scratch_array
from wordvec_ca.files.similar_names import nearest_name
from wordvec_ca.files.storage import Storage
from wordvec_ca.files.word_counts import parse_words, read_words

__all__ = [
    "CHECKSUMS",
    "KINDS",
    "Bar",
    "Content",
    "Curve",
    "Kind",
    "OpenedArray",
    "OpenedFile",
    "PieceStream",
    "Shade",
    "Storage",
    "absolute_name",
    "atomic_file",
    "changed_files",
    "check_file",
    "check_files",
    "check_listed",
    "check_output",
    "check_readable_again",
    "check_sample",
    "clear_leftovers",
    "compress_by_suffix",
    "compression_of",
    "compression_suffix",
    "content_words",
    "data_frame",
    "escape_lines",
    "file_system",
    "html_table",
    "in_memory",
    "is_read_once",
    "is_transient",
    "is_url",
    "json_text",
    "kind_of",
    "map_npy",
    "nearest_existing",
    "nearest_name",
    "open_by_content",
    "parse_words",
    "patiently",
    "read_checksums",
    "read_npy_header",
    "read_whole_folder",
    "read_words",
    "release_pages",
    "replacing",
    "replacing_files",
    "save_json",
    "save_npy",
    "scratch_array",
    "split_lines",
    "still_named",
    "take_lock",
    "terminal_text",
    "unescape",
    "unescape_lines",
    "whole_lines",
    "withdraw",
    "write_checksums",
    "write_errors",
    "write_npy",
    "write_npy_pieces",
    "write_npy_stream",
]
