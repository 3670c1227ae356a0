"""Every public format of evaluation sets is read; a malformed file is refused with its name and line."""

import gzip
import lzma

import pytest

from wordvec_ca import DataError
from wordvec_ca.eval.data.sentence_sets import read_labelled, read_sentence_pairs, read_sst_trees, tokenised
from wordvec_ca.eval.data.treebanks import read_tagged

CONLLU = """\
# newdoc id = letter-1
# sent_id = 1
# text = Don't go.
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
3\tgo\tgo\tVERB\t_\t_\t0\troot\t_\t_
3.1\tnow\t_\t_\t_\t_\t_\t_\t_\t_
4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_

1\t#\t#\tSYM\t#\t_\t0\troot\t_\t_
"""
CONLLX = (
    "1\tThe\tthe\tDT\tDT\t_\t2\tNMOD\n2\tcat\tcat\tN\tNN\t_\t0\tROOT\n\n1\tYes\tyes\tUH\tUH\t_\t0\tROOT\n"
)
COLUMNS = "Rockwell NNP B-NP\nsaid VBD B-VP\n\n\n# # B-NP\n5 CD I-NP\n"
OURS = "Pierre\tNNP\twsj_0001.mrg\nsaid\tVBD\twsj_0001.mrg\n\n#\t#\twsj_0002.mrg\n5\tCD\twsj_0002.mrg\n"
WORD_TAG = "The_DT snake_case_NN ._.\nYes_UH\n"
MRG = """
( (S (NP-SBJ (DT The)
             (NN and\\/or) )
     (VP (VBZ is) (NP (-NONE- *T*-1)) (-LRB- -LRB-) )))
(NP (NN End))
"""
POS = """
======================================

[ The/DT and\\/or/NN ]
is/VBZ
[ red/JJ|NN ]
./.

======================================

Yes/UH
"""


def write(tmp_path, text, name="corpus.txt"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "sentences", "tags", "sources"),
    [
        (
            CONLLU,
            [["Do", "n't", "go", "."], ["#"]],
            [["VB", "RB", "VERB", "."], ["#"]],
            ["letter-1", "letter-1"],
        ),
        (CONLLX, [["The", "cat"], ["Yes"]], [["DT", "NN"], ["UH"]], ["", ""]),
        (COLUMNS, [["Rockwell", "said"], ["#", "5"]], [["NNP", "VBD"], ["#", "CD"]], ["", ""]),
        (
            OURS,
            [["Pierre", "said"], ["#", "5"]],
            [["NNP", "VBD"], ["#", "CD"]],
            ["wsj_0001.mrg", "wsj_0002.mrg"],
        ),
        (WORD_TAG, [["The", "snake_case", "."], ["Yes"]], [["DT", "NN", "."], ["UH"]], ["", ""]),
        (MRG, [["The", "and/or", "is", "-LRB-"], ["End"]], [["DT", "NN", "VBZ", "-LRB-"], ["NN"]], ["", ""]),
        (
            POS,
            [["The", "and/or", "is", "red", "."], ["Yes"]],
            [["DT", "NN", "VBZ", "JJ", "."], ["UH"]],
            ["", ""],
        ),
    ],
    ids=["conllu", "conllx", "conll2000", "tsv with files", "word_tag", "mrg", "pos"],
)
def test_tagged_formats_are_recognised_and_read(tmp_path, text, sentences, tags, sources):
    corpus = read_tagged(write(tmp_path, text))
    assert corpus.sentences == sentences
    assert corpus.tags == tags
    assert corpus.sources == sources


def test_compressed_files_and_other_tag_columns(tmp_path):
    path = tmp_path / "a.conllu.xz"
    path.write_bytes(lzma.compress(CONLLU.encode()))
    assert read_tagged(path, tag_column=4).tags == [["AUX", "PART", "VERB", "PUNCT"], ["SYM"]]
    assert read_tagged(path).name == "a"
    path = tmp_path / "b.gz"
    path.write_bytes(gzip.compress(COLUMNS.encode()))
    assert read_tagged(path, tag_column=3).tags == [["B-NP", "B-VP"], ["B-NP", "I-NP"]]
    corpus = read_tagged(write(tmp_path, OURS))
    chosen = [i for i, source in enumerate(corpus.sources) if "0002" in source]
    assert corpus.at(chosen, "second").sentences == [["#", "5"]]


@pytest.mark.parametrize("name", ["ewt.tsv", "ud_x.tsv"])
def test_the_content_and_not_the_name_tells_which_column_has_the_tags(tmp_path, name):
    corpus = read_tagged(write(tmp_path, "This\tPRON\tDT\nis\tAUX\tVBZ\n.\tPUNCT\t.\n", name))
    assert corpus.tags == [["DT", "VBZ", "."]]
    assert "column 3, 3 different (DT, VBZ, ." in corpus.tag_note()
    for third in ("this be .", "B-NP B-VP O", "1 2 3", "PRON AUX PUNCT"):  # lemmas, chunks, ... are not tags
        rows = zip(("This", "is", "."), ("PRON", "AUX", "PUNCT"), third.split(), strict=True)
        text = "\n".join("\t".join(row) for row in rows)
        assert read_tagged(write(tmp_path, text, name)).columns == {2}, third


def test_words_in_the_column_of_the_tags_are_refused(tmp_path):
    words = [f"word{i}" for i in range(80)]
    text = "\n".join(f"{'NN' if i % 3 else 'DT'}\t{word}" for i, word in enumerate(words))
    with pytest.raises(DataError, match="column 2, 80 different tags for 2 different words"):
        read_tagged(write(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("1\tDo\tdo\tAUX\n", "conllu", r"corpus\.txt, line 1: 4 column\(s\); CoNLL-U has ten"),
        (CONLLU.replace("3\tgo", "5\tgo"), "conllu", r"line 7: the word has the number '5'; expected 3"),
        (CONLLU.replace("\n\n1", "\n1"), "conllu", r"line 10: the word has the number '1'; expected 5"),
        (CONLLU.replace("VERB", "_"), "conllu", r"line 7: the word 'go' has no tag"),
        ("1\tThe\tthe\tDT\n2\t\tcat\tNN\n", "conllx", r"line 2: there is no word"),
        ("1\tThe\n", "conllx", r"line 1: the word 'The' has no tag"),
        ("a NN\nb\n", "columns", r"line 2: 1 column\(s\) in 'b'; expected 2"),
        ("a\tNN\tx\nb\tNN\n", "columns", r"line 2: 2 column\(s\).*expected 3"),
        ("a\tNN\nb\t\n", "columns", r"line 2: an empty column"),
        ("The_DT cat_NN\nis_VBZ here\n", "word_tag", r"line 2: 'here' is not word_TAG"),
        ("(S (NN a)\n(NN b)\n", "mrg", r"line 2: 1 bracket\(s\) of line 1 are not closed"),
        ("(S (NN a)))\n", "mrg", r"line 1: a bracket closes that was not opened"),
        ("(S (NN a b))\n", "mrg", r"line 1: 'b' follows the word 'a'"),
        ("(S (NN a (X b)))\n", "mrg", r"line 1: a bracket opens after the word 'a'"),
        ("(S (NN a))\n\nwords\n", "mrg", r"line 3: 'words' is outside of brackets"),
        ("(S (NP))\n", "mrg", r"line 1: a tree without words"),
        ("====\n[ The/DT cat ]\n", "pos", r"line 2: 'cat' is not word/TAG"),
        ("plain\ntext\n", "auto", r"corpus\.txt: the format is not recognised from 'plain'"),
        ("\n\n# nothing\n", "auto", r"only blank lines and comments"),
        ("\n\n", "columns", r"no sentences were found \(read as columns\)"),
    ],
)
def test_malformed_tagged_corpora_are_refused_with_the_line(tmp_path, text, kind, message):
    with pytest.raises(DataError, match=message):
        read_tagged(write(tmp_path, text), format=kind)


def test_an_unknown_format_is_a_wrong_argument(tmp_path):
    with pytest.raises(ValueError, match="unknown format 'xml'; the formats are auto, conllu"):
        read_tagged(write(tmp_path, WORD_TAG), format="xml")


def test_labelled_text_and_sst_trees(tmp_path):
    data = read_labelled(write(tmp_path, "1\tIt 's a lovely and\\/or film .\n\nneg\tDon't.\n", "sst.tsv"))
    assert (data.name, data.labels) == ("sst", ["1", "neg"])
    assert data.sentences == [["It", "'s", "a", "lovely", "and", "/", "or", "film", "."], ["Do", "n't", "."]]
    trees = write(tmp_path, "(3 (2 It) (4 (2 's) (4 lovely)))\n(2 (2 So) (2 what))\n(0 (1 bad\\/sad))\n")
    data = read_sst_trees(trees)
    assert (data.labels, data.sentences, data.dropped) == (
        ["1", "0"],
        [["It", "'s", "lovely"], ["bad/sad"]],
        1,
    )


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        (read_labelled, "1\tgood\nbad\n", r"line 2: no label and tab in 'bad'; expected label TAB text"),
        (read_labelled, "1\tgood\n\tbad\n", r"line 2: no label"),
        (read_labelled, "1\tgood\n1\tbetter\n", r"1 class\(es\)"),
        (read_sst_trees, "(3 (2 a) (3 b))\n(7 c)\n", r"line 2: .* does not start with a label"),
        (read_sst_trees, "(3 (2 a) (x b))\n", r"line 1: the label 'x'; labels are 0 to 4"),
        (read_sst_trees, "(3 (2 a) (3 b)\n", r"line 1: 1 bracket\(s\) are not closed"),
        (read_sst_trees, "(3 (2 a)) (3 b)\n", r"line 1: something follows the tree"),
        (read_sst_trees, "(3 (2 a)))\n", r"line 1: (something follows|a bracket closes)"),
        (read_sst_trees, "(3 (2))\n", r"line 1: a tree without words"),
        (read_sst_trees, "(2 (2 a))\n", r"0 class\(es\)"),
        (read_sentence_pairs, "5\ta b\tc d\n4\ta b\n", r"line 2: 2 column\(s\).*expected score TAB"),
        (read_sentence_pairs, "5\ta\tb\nhigh\ta\tb\n", r"line 2: the score 'high' is not a number"),
        (read_sentence_pairs, "5\ta\tb\n", r"1 scored pair\(s\)"),
        (read_sentence_pairs, "pair_ID\tA\tB\n1\ta\tb\n", r"line 1: the header .*SICK's names"),
    ],
)
def test_malformed_sentence_sets_are_refused_with_the_line(tmp_path, reader, text, message):
    with pytest.raises(DataError, match=message):
        reader(write(tmp_path, text))


def test_sentence_pairs_in_three_layouts(tmp_path):
    ours = read_sentence_pairs(write(tmp_path, "4.5\tA cat.\tThe cat\tNEUTRAL\n\tx\ty\n0\tNo\tYes\n"))
    assert ours.scores == [4.5, 0.0]
    assert ours.first == [["A", "cat", "."], ["No"]]
    assert ours.unscored == 1
    sick = read_sentence_pairs(
        write(
            tmp_path,
            "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
            "1\tA cat\tThe cat\t4.5\tNEUTRAL\n2\tNo\tYes\t1\tNEUTRAL\n",
        )
    )
    assert (sick.scores, sick.second) == ([4.5, 1.0], [["The", "cat"], ["Yes"]])
    benchmark = read_sentence_pairs(
        write(
            tmp_path, 'main\tMSRvid\t2012test\t0001\t5.000\tA "big cat\tcat\nmain\tX\t2012\t2\t1\tNo\tYes\n'
        )
    )
    assert benchmark.scores == [5.0, 1.0]
    assert benchmark.first[0] == ["A", '"', "big", "cat"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("It's John's; he can't.", ["It", "'s", "John", "'s", ";", "he", "ca", "n't", "."]),
        ("It 's n't 1,000.5", ["It", "'s", "n't", "1,000.5"]),
        ("U.S.-based well-known (co)", ["U.S.", "-", "based", "well-known", "(", "co", ")"]),
        ("`` quoted '' -LRB- naïve 東京 ...", ["``", "quoted", "''", "-LRB-", "naïve", "東京", "..."]),
    ],
)
def test_tokens(text, tokens):
    assert tokenised(text) == tokens


def test_a_text_without_a_word_does_not_refuse_a_whole_set(tmp_path):
    texts = read_labelled(write(tmp_path, "1\tgood\n0\t \n0\tbad\n", "cr.tsv"))
    assert (len(texts), texts.empty) == (2, 1)
    pairs = read_sentence_pairs(write(tmp_path, "5\ta\tb\n1\t\tb\n2\tc\td\n", "pairs.tsv"))
    assert (len(pairs), pairs.empty) == (2, 1)
