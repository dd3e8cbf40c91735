# SPDX-License-Identifier: Apache-2.0
"""Chinese for comparisons, for descriptions without a name, and for the permit register."""

from __future__ import annotations

from envs.web.relations import Kind
from envs.web.texts.shapes import Comparing, Describing, Wording

COMPARING: dict[str, Comparing] = {
    "population": Comparing(
        more=("{a}和{b}，哪座城市的人口更多？", "{a}与{b}之间，在哪里的居民更多？"),
        less=("{a}和{b}，哪座城市的人口更少？", "{a}与{b}之间，哪座城市更小？"),
    ),
    "employees": Comparing(
        more=("{a}和{b}，哪家公司的员工更多？", "{a}与{b}之间，哪家的员工更多？"),
        less=("{a}和{b}，哪家公司的员工更少？", "{a}与{b}之间，哪家的员工更少？"),
    ),
    "price": Comparing(
        more=("{a}和{b}，哪个产品的标价更高？", "{a}与{b}之间，哪个更贵？"),
        less=("{a}和{b}，哪个产品的标价更低？", "{a}与{b}之间，哪个更便宜？"),
    ),
    "birth_year": Comparing(
        more=("{a}和{b}，谁的出生年份更晚？", "{a}与{b}之间，谁更年轻？"),
        less=("{a}和{b}，谁的出生年份更早？", "{a}与{b}之间，谁更年长？"),
    ),
    "founded_year": Comparing(
        more=("{a}和{b}，哪家公司成立得更晚？", "{a}与{b}之间，哪家更年轻？"),
        less=("{a}和{b}，哪家公司成立得更早？", "{a}与{b}之间，哪家更悠久？"),
    ),
    "launch_year": Comparing(
        more=("{a}和{b}，哪个产品上市更晚？", "{a}与{b}之间，哪个更新？"),
        less=("{a}和{b}，哪个产品上市更早？", "{a}与{b}之间，哪个先上市？"),
    ),
    "effective_year": Comparing(
        more=("{a}和{b}，哪个生效更晚？", "{a}与{b}之间，哪个更新？"),
        less=("{a}和{b}，哪个生效更早？", "{a}与{b}之间，哪个先生效？"),
    ),
    "established_year": Comparing(
        more=("{a}和{b}，哪个机构设立得更晚？", "{a}与{b}之间，哪个更年轻？"),
        less=("{a}和{b}，哪个机构设立得更早？", "{a}与{b}之间，哪个更悠久？"),
    ),
}

BELOW = (
    "{x}的{q}上限最早在哪一年低于{n}？",
    "从哪一年起，{x}的{q}上限不到{n}？",
    "{x}所允许的{q}，是在哪一年首次低于{n}的？",
)


def _describing(noun: str, noun_relation: str, **clauses: tuple[str, ...]) -> Describing:
    return Describing(
        noun=noun,
        noun_relation=noun_relation,
        clauses=clauses,
        with_two="{a}、{b}的{noun}",
        with_three="{a}、{b}、{c}的{noun}",
    )


DESCRIBING: dict[Kind, Describing] = {
    Kind.PERSON: _describing(
        "人",
        "profession",
        employer=("受雇于{v}", "以{v}为雇主"),
        birthplace=("家乡是{v}", "出生在{v}"),
        mentor=("师从{v}", "拜在{v}的门下"),
        birth_year=("生于{d}年代",),
    ),
    Kind.ORGANISATION: _describing(
        "公司",
        "",
        headquarters=("总部在{v}", "总部设在{v}"),
        founder=("由{v}所创办", "以{v}为创始人"),
        industry=("以{v}为主业", "行业是{v}"),
        founded_year=("成立于{d}年代",),
    ),
    Kind.CITY: _describing(
        "城市",
        "",
        region=("位于{v}", "坐落在{v}之内"),
        river=("建在{v}的岸边", "临着{v}"),
        mayor=("以{v}为市长", "市长是{v}"),
    ),
    Kind.PRODUCT: _describing(
        "产品",
        "category",
        maker=("由{v}所制造", "出自{v}"),
        launch_year=("在{d}年代上市",),
    ),
    Kind.REGULATION: _describing(
        "法规",
        "",
        agency=("由{v}所颁布", "颁布机构是{v}"),
        topic=("主题是{v}", "以{v}为主题"),
        effective_year=("在{d}年代生效",),
    ),
    Kind.AGENCY: _describing(
        "机构",
        "",
        seat=("驻地在{v}", "办公地是{v}"),
        director=("以{v}为负责人", "负责人是{v}"),
        established_year=("设立于{d}年代",),
    ),
}

PERMIT_WORDINGS: dict[str, Wording] = {
    "permit_number": Wording(
        headers=("许可证编号", "证号", "档案号"),
        sentences=(),
        questions=(
            "{x}在政策登记处的许可证编号是什么？",
            "按照政策登记处的记录，{x}的许可证是什么编号？",
        ),
    ),
    "permit_year": Wording(
        headers=("发证年份", "批准年份", "签发"),
        sentences=(),
        questions=(
            "{x}在政策登记处的许可证是哪一年批准的？",
            "按照政策登记处的记录，{x}的许可证的签发年份是哪一年？",
        ),
    ),
    "permit_officer": Wording(
        headers=("经办人", "签署人", "承办官员"),
        sentences=(),
        questions=(
            "{x}在政策登记处的许可证的经办人是谁？",
            "按照政策登记处的记录，{x}的许可证由谁签署？",
        ),
        phrases=(
            "{x}在政策登记处的许可证的经办人",
            "{x}在政策登记处的许可证的签署人",
        ),
    ),
    "permit_site": Wording(
        headers=("工厂所在地", "厂址", "生产地点"),
        sentences=(),
        questions=(
            "{x}在政策登记处的许可证上，工厂在哪座城市？",
            "按照政策登记处的记录，{x}所获许可的工厂在哪座城市？",
        ),
        phrases=(
            "{x}在政策登记处的许可证上的工厂所在的城市",
            "{x}在政策登记处的许可证的厂址",
        ),
    ),
}
