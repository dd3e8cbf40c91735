# SPDX-License-Identifier: Apache-2.0
"""The picture's encoder: where its weights come from, what it costs, what it must not do."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from agent.config import STREAMS, PolicyConfig
from agent.forager.vision import PICTURE_FEATURES, PictureEncoder, PictureReader, picture_reader
from agent.pictures import PICTURE_SIZE_PX, picture_pixels
from agent.policy import collate
from agent.policy_agent import build_policy, policy_family
from envs.config import ScreenshotMode
from tests.agent.pictured_twin import small_pictured_env
from tests.agent.test_forager import observations

SEEING = PolicyConfig(width=16, streams=("page", "vision"), vision_weights="random")
ROOT = Path(__file__).resolve().parents[2]


def jpeg(seed: int) -> bytes:
    """A picture of random rectangles."""
    rng = np.random.default_rng(seed)
    canvas = np.full((360, 640, 3), 255, dtype=np.uint8)
    for _ in range(12):
        x, y = rng.integers(0, 600), rng.integers(0, 340)
        colour = tuple(int(c) for c in rng.integers(0, 255, 3))
        cv2.rectangle(canvas, (int(x), int(y)), (int(x) + 90, int(y) + 40), colour, -1)
    return cv2.imencode(".jpg", canvas)[1].tobytes()


@pytest.fixture(scope="module")
def reader() -> PictureReader:
    return PictureReader("random")


@pytest.fixture(scope="module")
def weights_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Another network's state, as torchvision's files hold it."""
    from torchvision.models import mobilenet_v3_large

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        state = mobilenet_v3_large(weights=None).state_dict()
    path = tmp_path_factory.mktemp("weights") / "mobilenet.pth"
    torch.save(state, path)
    return str(path)


def test_pixels_are_a_small_square_in_rgb():
    blue = np.zeros((40, 80, 3), dtype=np.uint8)
    blue[:, :, 0] = 250  # OpenCV's order is BGR
    pixels = picture_pixels(cv2.imencode(".png", blue)[1].tobytes())
    assert pixels.shape == (3, PICTURE_SIZE_PX, PICTURE_SIZE_PX) and pixels.dtype == np.uint8
    assert pixels[:, 80, 80].tolist() == [0, 0, 250]
    with pytest.raises(ValueError, match="expected a JPEG"):
        picture_pixels(b"not a picture")


def test_the_same_picture_is_encoded_once(reader: PictureReader):
    before = reader.num_encoded
    first, again, other = reader.read(jpeg(0)), reader.read(bytes(jpeg(0))), reader.read(jpeg(1))
    assert reader.num_encoded == before + 2
    assert first is again and not np.array_equal(first, other)
    assert first.shape == (1, PICTURE_FEATURES) and first.dtype == np.float16
    wide = first.astype(np.float64)
    assert abs(wide.mean()) < 1e-2 and wide.std() == pytest.approx(1.0, abs=1e-2)
    assert reader.read(b"").shape == (0, PICTURE_FEATURES)
    assert reader.num_encoded == before + 2


def test_an_episodes_pictures_are_encoded_only_when_they_change():
    pages = observations(small_pictured_env(max_steps=50, screenshot=ScreenshotMode.EVERY_STEP))
    family = policy_family(SEEING)
    for page in pages:
        family.model_inputs(page)
    kept = picture_reader("random").num_encoded
    for _ in range(2):
        for page in pages:
            assert len(family.model_inputs(page).picture) == 1
    assert picture_reader("random").num_encoded == kept
    assert len({page.screenshot_jpeg for page in pages}) < len(pages), "some did not change"


def test_a_picture_moves_the_policy_and_none_is_a_learnt_state():
    policy = build_policy(SEEING, seed=0)
    with torch.no_grad():
        policy.type_head.weight.normal_(generator=torch.Generator().manual_seed(0))
    page = observations()[1]
    family = policy_family(SEEING)
    inputs = [
        family.model_inputs(dataclasses.replace(page, screenshot_jpeg=picture))
        for picture in (jpeg(0), jpeg(1), b"")
    ]
    batch = collate(inputs, [page.mask] * 3)
    assert batch.picture_mask.tolist() == [True, True, False]
    log_type = policy(batch).log_type
    for one, other in ((0, 1), (0, 2)):
        assert not torch.allclose(log_type[one], log_type[other], atol=1e-6)
    (gradient,) = torch.autograd.grad(
        log_type[2][batch.type_mask[2]].square().sum(), policy.vision.none, retain_graph=True
    )
    (unused,) = torch.autograd.grad(
        log_type[0][batch.type_mask[0]].square().sum(), policy.vision.none
    )
    assert gradient.abs().max() > 0 == unused.abs().max()


def test_weights_of_a_file_are_torchvisions(weights_file: str, reader: PictureReader):
    from torchvision.models import mobilenet_v3_large

    model = mobilenet_v3_large(weights=None).eval()
    model.load_state_dict(torch.load(weights_file, weights_only=True))
    pixels = torch.from_numpy(picture_pixels(jpeg(3))[None])
    mean = torch.tensor([0.485, 0.456, 0.406])[:, None, None]
    std = torch.tensor([0.229, 0.224, 0.225])[:, None, None]
    with torch.no_grad():
        expected = model.avgpool(model.features((pixels / 255.0 - mean) / std)).flatten(1)
        found = PictureEncoder(weights_file)(pixels)
    scaled = (expected - expected.mean()) / expected.std(correction=0)
    assert torch.allclose(found, scaled, atol=1e-4)
    assert not np.allclose(found.numpy(), reader.read(jpeg(3)), atol=1e-2)


def test_a_file_of_something_else_is_refused_by_name(tmp_path: Path):
    path = tmp_path / "other.pth"
    torch.save({"features.0.weight": torch.zeros(2)}, path)
    with pytest.raises(ValueError, match=r"policy\.vision_weights: expected .*mobilenet_v3_large"):
        PictureReader(str(path))


def test_nothing_is_downloaded_unless_configured(monkeypatch, weights_file: str):
    from torchvision.models import _api

    asked: list[str] = []

    def fetch(url: str, **_: object) -> dict[str, torch.Tensor]:
        asked.append(url)
        return torch.load(weights_file, weights_only=True)

    monkeypatch.setattr(_api, "load_state_dict_from_url", fetch)
    for weights in ("random", weights_file):
        PictureEncoder(weights)
    build_policy(dataclasses.replace(SEEING, vision_weights="none"), seed=0)
    assert asked == []
    PictureEncoder("download")
    assert len(asked) == 1 and "mobilenet_v3_large" in asked[0]


def test_random_weights_are_the_same_in_every_process_and_leave_the_generator(
    reader: PictureReader,
):
    torch.manual_seed(1)
    state = torch.random.get_rng_state()
    other = PictureReader("random")
    assert torch.equal(torch.random.get_rng_state(), state)
    assert np.array_equal(other.read(jpeg(5)), reader.read(jpeg(5)))


def test_training_moves_the_encoder_but_not_its_statistics():
    config = dataclasses.replace(SEEING, train_backbone=True)
    policy = build_policy(config, seed=0).train()
    with torch.no_grad():
        policy.type_head.weight.normal_(generator=torch.Generator().manual_seed(0))
    page = dataclasses.replace(observations()[1], screenshot_jpeg=jpeg(0))
    inputs = policy_family(config).model_inputs(page)
    assert inputs.picture_jpeg.tobytes() == jpeg(0) and inputs.picture.size == 0
    before = {k: v.clone() for k, v in policy.named_buffers()}
    batch = collate([inputs], [page.mask])
    policy(batch).log_type[batch.type_mask].square().sum().backward()
    gradients = [p.grad for p in policy.vision.backbone.parameters()]
    assert all(g is not None and torch.isfinite(g).all() for g in gradients)
    assert max(float(g.abs().max()) for g in gradients if g is not None) > 0
    assert before and all(torch.equal(before[k], v) for k, v in policy.named_buffers())


def test_without_weights_vision_is_off_and_the_log_says_so(caplog: pytest.LogCaptureFixture):
    config = PolicyConfig(width=16, streams=STREAMS)
    assert config.active_streams() == ("page", "intent", "diff", "history")
    policy = build_policy(config, seed=0)
    assert "vision is off" in caplog.text and policy.vision is None
    page = dataclasses.replace(observations()[1], screenshot_jpeg=jpeg(0))
    assert policy_family(config).model_inputs(page).picture.size == 0
    caplog.clear()
    build_policy(PolicyConfig(width=16), seed=0)
    assert caplog.text == ""
    PictureEncoder("random")
    assert "untrained" in caplog.text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"streams": ("page", "histroy")}, r"policy\.streams.*'histroy'.*did you mean 'history'"),
        ({"streams": ()}, r"policy\.streams: expected at least one"),
        ({"streams": ("page", "page")}, r"policy\.streams: expected at least one name and each"),
        ({"streams": ("vision",)}, r"policy\.streams: expected a stream that is on"),
        ({"vision_weights": "/no/such/file.pth"}, r"policy\.vision_weights: expected one of"),
        ({"train_backbone": True}, r"policy\.train_backbone: expected vision among"),
        ({"streams": STREAMS, "train_backbone": True}, r"policy\.train_backbone"),
    ],
)
def test_wrong_settings_fail_early_by_name(settings: dict, message: str):
    with pytest.raises(ValueError, match=message):
        PolicyConfig(**settings)


def test_settings_come_back_from_json_and_in_one_order():
    config = PolicyConfig(streams=("history", "page"))
    assert config.streams == ("page", "history")
    assert PolicyConfig(**json.loads(json.dumps(dataclasses.asdict(config)))) == config


def test_torchvision_is_imported_only_where_the_stream_is_on():
    code = """
import sys
from agent.config import PolicyConfig
from agent.policy_agent import build_policy
build_policy(PolicyConfig(width=16), seed=0)
build_policy(PolicyConfig(width=16, streams=("page", "diff", "history", "vision")), seed=0)
build_policy(PolicyConfig(width=16, streams=("page", "vision"), vision_weights="random"), seed=0)
assert "torchvision" not in sys.modules, "the learner of a frozen encoder has no need of it"
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
