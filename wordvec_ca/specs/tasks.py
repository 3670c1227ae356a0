"""The tasks of evaluation, in one table, for messages and the options of the command line.

``eval/task_table.py`` defines how a task finds its data and evaluates vectors. This module has no slow
imports, so that ``cawv eval --help`` is quick.
"""

from __future__ import annotations

from dataclasses import dataclass

from wordvec_ca.errors import install_extra


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """The description of a task for messages and options."""

    name: str
    summary: str
    # Description of the files that the user may give.
    files: str
    # Description of the files in the data folder, with paths relative to it.
    needs: str
    # Where to get the public data set.
    source: str
    # The option that takes the files, if its name differs from the task's.
    flag: str = ""

    @property
    def option(self) -> str:
        """The name of the option that takes the files."""
        return self.flag or self.name


# Name -> task, in the order in which the tasks run.
TASK_SPECS: dict[str, TaskSpec] = {
    spec.name: spec
    for spec in (
        TaskSpec(
            name="similarity",
            summary="rank pairs of words as people do (Spearman, Pearson)",
            files="word TAB word TAB score",
            needs="wordsim/*.tsv (word TAB word TAB score)",
            source=(
                "WordSim-353 and SimLex-999 come with gensim; RG-65, MC-30, MTurk-287 and others are "
                "in github.com/mfaruqui/eval-word-vectors"
            ),
        ),
        TaskSpec(
            name="analogy",
            summary="a is to b as c is to ? (3CosAdd, 3CosMul)",
            files="questions in the format of questions-words.txt",
            needs="analogy/*.txt (questions-words format)",
            source="questions-words.txt comes with gensim and with word2vec (github.com/tmikolov/word2vec)",
        ),
        TaskSpec(
            name="categorization",
            summary="cluster words into classes (purity, V-measure)",
            files="word TAB class",
            needs="categorization/*.tsv (word TAB class)",
            source="Almuhareb-Poesio and ESSLLI 2008 are in github.com/vecto-ai/word-benchmarks",
        ),
        TaskSpec(
            name="pos-induction",
            summary="induce parts of speech with a Gaussian HMM (V-measure, many-to-one)",
            files="a tagged corpus: CoNLL-U, columns, word_TAG, Penn Treebank .mrg or .pos",
            needs="pos/*.tsv or *.conllu (a tagged corpus)",
            source=(
                "the Penn Treebank sample comes with NLTK (nltk.download('treebank')), UD English-EWT "
                "is in github.com/UniversalDependencies/UD_English-EWT"
            ),
        ),
        TaskSpec(
            name="tagging",
            summary="tag parts of speech from the vectors of a window (accuracy)",
            files="NAME.train.* and NAME.test.*, or one tagged corpus",
            needs="pos/NAME.train.tsv and pos/NAME.test.tsv, or one tagged corpus",
            source="as for pos-induction",
        ),
        TaskSpec(
            name="bilstm-tagging",
            summary="tag parts of speech with an LSTM that trains the vectors further (accuracy)",
            files=f"PyTorch: {install_extra('torch')}; NAME.train.* and NAME.test.*, or one tagged corpus",
            needs=f"PyTorch: {install_extra('torch')}; and the files of tagging",
            source="as for pos-induction",
        ),
        TaskSpec(
            name="sentiment",
            summary="classify texts by the mean of their vectors (accuracy)",
            files="label TAB text, or SST trees; NAME.train.*, NAME.dev.*, NAME.test.*, or one file",
            needs="sentences/sst/binary.{train,dev,test}.tsv, sentences/NAME/all.tsv (label TAB text)",
            source=(
                "SST is at nlp.stanford.edu/sentiment, MR and Subj at "
                "www.cs.cornell.edu/people/pabo/movie-review-data"
            ),
        ),
        TaskSpec(
            name="sts",
            summary="score sentence pairs by SIF, the mean, uSIF and CA-SEM (Pearson)",
            files="score TAB sentence TAB sentence, or STS benchmark files",
            needs="sentences/sts20YY/*.tsv, sentences/stsb_by_year/*.tsv (score TAB sentence TAB sentence)",
            source="STS 2012-2017 and the STS benchmark are at ixa2.si.ehu.eus/stswiki",
        ),
        TaskSpec(
            name="sick",
            summary="the same on the pairs of SICK",
            files="score TAB sentence TAB sentence, or SICK's own columns with their header",
            needs="sentences/sick/test.tsv or trial.tsv (score TAB sentence TAB sentence, or SICK's columns)",
            source="SICK is at zenodo.org/record/2787612",
        ),
        TaskSpec(
            name="next-item",
            summary="propose the next item of a sequence (hit rate, MRR, NDCG at 10)",
            files="held-out sequences, a line each, or a log as MODEL's; for all baselines NAME.train.* and "
            "NAME.test.*",
            needs="sequences/NAME.test.txt and NAME.train.txt (items of a sequence on a line)",
            source="your own: sessions that the vectors were not trained on",
            flag="sequences",
        ),
    )
}
