"""Labels that are no labels are warned of."""

import pytest

from wordvec_ca import fasttext

SETTINGS = {"minCount": 1, "dim": 4, "epoch": 1, "thread": 1, "verbose": 0}


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("__label__ {} nice day", "labels are empty"),
        ("__label__{0}__label__b{0} nice day", "without spaces"),
        ("__label__{0}text{1} nice day", "labels occur once"),
        ("__label__{0},__label__b{0} nice day", "without spaces"),
    ],
)
def test_empty_and_glued_labels(tmp_path, line, match):
    (tmp_path / "a").write_text(
        "".join(line.format(name, i) + "\n" for i, name in enumerate(("pos", "neg") * 20))
    )
    with pytest.warns(UserWarning, match=match):
        fasttext.train_supervised(str(tmp_path / "a"), **SETTINGS)


def test_a_validation_file_without_labels(tmp_path):
    (tmp_path / "a").write_text("__label__a nice day\n__label__b bad day\n" * 20)
    (tmp_path / "b").write_text("nice day\n" * 20)
    model = fasttext.train_supervised(str(tmp_path / "a"), **SETTINGS)
    with pytest.warns(UserWarning, match="no line of .* has a label of the model"):
        model.test(str(tmp_path / "b"))
