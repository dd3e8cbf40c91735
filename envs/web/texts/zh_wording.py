# SPDX-License-Identifier: Apache-2.0
"""How Chinese words a fact: on a page, in a table, in a question; see `shapes.Wording`.

Function words or punctuation stand on both sides of what is filled in: by them a reader without a
dictionary tells a name from the words around it, see `envs.han`.
"""

from __future__ import annotations

from envs.web.texts.shapes import Wording

WORDINGS: dict[str, Wording] = {
    "employer": Wording(
        headers=("雇主", "工作单位", "任职公司"),
        sentences=(
            "{s}的雇主是{v}。",
            "{s}工作的单位是{v}。",
            "每月的薪水由{v}的账上支出。",
        ),
        questions=("{x}的雇主是谁？", "{x}在哪家公司工作？", "是哪家公司雇用了{x}？"),
        phrases=("{x}的雇主", "{x}所在的公司"),
    ),
    "birthplace": Wording(
        headers=("出生地", "籍贯", "家乡"),
        sentences=(
            "{s}的出生地是{v}。",
            "{s}出生在{v}。",
            "童年是在{v}的老街上度过的。",
        ),
        questions=("{x}的出生地是哪里？", "{x}在哪座城市出生？", "{x}的家乡是哪座城市？"),
        phrases=("{x}的出生地", "{x}的家乡"),
    ),
    "profession": Wording(
        headers=("职业", "身份", "从事工作"),
        sentences=(),
        questions=("{x}的职业是什么？", "{x}以什么为生？", "{x}的工作是什么？"),
    ),
    "birth_year": Wording(
        headers=("出生年份", "生年", "出生"),
        sentences=(
            "{s}生于{v}年。",
            "{s}在{v}年出生。",
            "{v}年，家中的摇篮里添了{s}。",
        ),
        questions=("{x}是哪一年出生的？", "{x}的出生年份是哪一年？"),
    ),
    "mentor": Wording(
        headers=("导师", "老师", "师从"),
        sentences=(
            "{s}的导师是{v}。",
            "{s}的手艺是从{v}那里学来的。",
            "{v}的课堂让{s}找到了方向。",
        ),
        questions=("{x}的导师是谁？", "{x}的老师是谁？", "是谁教了{x}？"),
        phrases=("{x}的导师", "{x}的老师"),
    ),
    "headquarters": Wording(
        headers=("总部", "总部所在地", "总公司"),
        sentences=(
            "{s}的总部在{v}。",
            "{s}的总部设在{v}，多年未变。",
            "董事会每季度在{v}的老楼里开会。",
        ),
        questions=("{x}的总部在哪座城市？", "{x}的总部设在哪里？"),
        phrases=("{x}的总部所在的城市", "{x}把总部设于其中的城市"),
    ),
    "founder": Wording(
        headers=("创始人", "创办者", "创立者"),
        sentences=(
            "{s}的创始人是{v}。",
            "创办{s}的是{v}。",
            "最初的招牌是{v}的手笔。",
        ),
        questions=("{x}的创始人是谁？", "是谁创办了{x}？"),
        phrases=("{x}的创始人", "{x}的创办者"),
    ),
    "founded_year": Wording(
        headers=("成立年份", "成立", "创立时间"),
        sentences=(
            "{s}成立于{v}年。",
            "{s}的成立年份是{v}年。",
            "第一批客人在{v}年上门。",
        ),
        questions=("{x}是哪一年成立的？", "{x}的成立年份是哪一年？"),
    ),
    "industry": Wording(
        headers=("行业", "经营领域", "主营"),
        sentences=(),
        questions=("{x}的行业是什么？", "{x}在哪个行业经营？"),
    ),
    "employees": Wording(
        headers=("员工人数", "员工", "雇员"),
        sentences=(
            "{s}有{v}名员工。",
            "{s}的员工共{v}人。",
            "工资单上有{v}个名字。",
        ),
        questions=("{x}有多少名员工？", "{x}的员工人数是多少？"),
    ),
    "region": Wording(
        headers=("所属地区", "地区", "行政区"),
        sentences=(
            "{s}位于{v}。",
            "{s}是{v}的一部分。",
            "税款上交给{v}的官署。",
        ),
        questions=("{x}在哪个地区？", "{x}的所属地区是哪里？"),
    ),
    "population": Wording(
        headers=("人口", "居民人数", "常住人口"),
        sentences=(
            "{s}的人口是{v}人。",
            "{s}有{v}名居民。",
            "上次普查数到了{v}张面孔。",
        ),
        questions=("{x}有多少人口？", "{x}的人口是多少？", "{x}有多少居民？"),
    ),
    "mayor": Wording(
        headers=("市长", "市政负责人", "市政厅主人"),
        sentences=(
            "{s}的市长是{v}。",
            "主持市政的是{v}。",
            "上次投票之后，金链挂在了{v}的胸前。",
        ),
        questions=("{x}的市长是谁？", "{x}的市政由谁主持？"),
        phrases=("{x}的市长", "{x}的市政主持人"),
    ),
    "river": Wording(
        headers=("河流", "流经河流", "水道"),
        sentences=(
            "{s}建在{v}的岸边。",
            "流过{s}的是{v}。",
            "驳船曾沿着{v}，把粮食运到磨坊。",
        ),
        questions=("{x}在哪条河的岸边？", "流过{x}的是哪条河？"),
    ),
    "maker": Wording(
        headers=("制造商", "生产厂商", "品牌方"),
        sentences=(
            "{s}的制造商是{v}。",
            "{s}出自{v}的生产线。",
            "每一件都在{v}的车间里下线。",
        ),
        questions=("{x}的制造商是哪家公司？", "{x}是哪家公司生产的？"),
        phrases=("{x}的制造商", "{x}的生产厂商"),
    ),
    "price": Wording(
        headers=("标价", "售价", "建议零售"),
        sentences=(
            "{s}的标价是{v}。",
            "{s}的售价为{v}。",
            "顾客在柜台要付{v}。",
        ),
        questions=("{x}的标价是多少？", "{x}的售价是多少？"),
    ),
    "launch_year": Wording(
        headers=("上市年份", "上市", "发售时间"),
        sentences=(
            "{s}在{v}年上市。",
            "{s}的上市年份是{v}年。",
            "第一批货箱在{v}年摆进橱窗。",
        ),
        questions=("{x}是哪一年上市的？", "{x}的上市年份是哪一年？"),
    ),
    "category": Wording(
        headers=("类别", "产品类型", "品类"),
        sentences=(),
        questions=("{x}是哪一类产品？", "{x}的产品类别是什么？"),
    ),
    "agency": Wording(
        headers=("颁布机构", "主管机构", "发文单位"),
        sentences=(
            "{s}的颁布机构是{v}。",
            "主管{s}的是{v}。",
            "{v}的检查员监督执行。",
        ),
        questions=("{x}的颁布机构是哪个？", "{x}的主管机构是哪个？"),
        phrases=("{x}的颁布机构", "{x}的主管机构"),
    ),
    "effective_year": Wording(
        headers=("生效年份", "生效", "首次通过"),
        sentences=(
            "{s}自{v}年起生效。",
            "{s}的生效年份是{v}年。",
            "议会在{v}年通过了最初的文本。",
        ),
        questions=("{x}是哪一年生效的？", "{x}的生效年份是哪一年？"),
    ),
    "topic": Wording(
        headers=("政策领域", "主题", "事项"),
        sentences=(),
        questions=("{x}的政策领域是什么？", "{x}的主题是什么？"),
    ),
    "limit": Wording(
        headers=("{y}",),
        sentences=(),
        questions=(
            "{x}在{y}年的{q}上限是多少？",
            "{y}年，{x}所允许的{q}最高是多少？",
        ),
    ),
    "seat": Wording(
        headers=("驻地", "办公地", "所在城市"),
        sentences=(
            "{s}的驻地在{v}。",
            "{s}的办公地是{v}。",
            "来访者在{v}的大厅里受到接待。",
        ),
        questions=("{x}的驻地在哪座城市？", "{x}的办公地是哪座城市？"),
        phrases=("{x}的驻地", "{x}的办公地"),
    ),
    "director": Wording(
        headers=("负责人", "主管", "领导者"),
        sentences=(
            "{s}的负责人是{v}。",
            "主管{s}的是{v}。",
            "最后的文件上要有{v}的签名。",
        ),
        questions=("{x}的负责人是谁？", "{x}由谁主管？"),
        phrases=("{x}的负责人", "{x}的主管"),
    ),
    "established_year": Wording(
        headers=("设立年份", "设立", "建立时间"),
        sentences=(
            "{s}设立于{v}年。",
            "{s}的设立年份是{v}年。",
            "第一批检查员在{v}年宣誓。",
        ),
        questions=("{x}是哪一年设立的？", "{x}的设立年份是哪一年？"),
    ),
}
