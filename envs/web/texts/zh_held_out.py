# SPDX-License-Identifier: Apache-2.0
"""Chinese page wordings that no training page uses; none shares two characters with a question."""

from __future__ import annotations

from envs.web.texts.shapes import PageWording


def _wording(headers: tuple[str, ...], *sentences: str) -> PageWording:
    return PageWording(headers=headers, sentences=sentences)


HELD_OUT: dict[str, PageWording] = {
    "employer": _wording(("薪水来源", "坐班地点"), "{s}每月的薪水来自{v}。", "{s}的门卡是{v}的。"),
    "birthplace": _wording(
        ("摇篮", "童年"), "{s}的第一声啼哭响在{v}。", "{s}的摇篮安放在{v}的旧屋里。"
    ),
    "profession": _wording(("行当", "本行")),
    "birth_year": _wording(
        ("来到人世", "摇篮添丁"), "{s}在{v}年来到人世。", "{v}年，{s}的摇篮备好了。"
    ),
    "mentor": _wording(("启蒙", "师傅"), "{s}在{v}的作坊里当过学徒。", "{s}的启蒙来自{v}。"),
    "headquarters": _wording(("大本营", "主楼"), "{s}的主楼建在{v}。", "{s}的大本营是{v}。"),
    "founder": _wording(
        ("开山人", "首任东家"), "{s}是{v}的心血。", "{v}和两名朋友打开了{s}的大门。"
    ),
    "founded_year": _wording(("开张", "首本账簿"), "{s}在{v}年开张。", "{s}的账簿从{v}年记起。"),
    "industry": _wording(("买卖", "领地")),
    "employees": _wording(
        ("工资单", "团队规模"), "{s}的食堂每天备好{v}份午饭。", "{s}每月发出{v}份薪水。"
    ),
    "region": _wording(
        ("上级官署", "辖下"), "地图上，{s}的颜色和{v}的一样。", "{s}的护照印着{v}的徽记。"
    ),
    "population": _wording(
        ("灶头数", "普查结果"), "普查员在{s}数到{v}张面孔。", "{s}的信箱有{v}只。"
    ),
    "mayor": _wording(("金链", "城门钥匙"), "{s}的金链挂在{v}的胸前。", "{s}的城门钥匙交给了{v}。"),
    "river": _wording(("桥下", "渡口"), "七座桥跨在{s}的{v}之上。", "{v}把{s}分成两半。"),
    "maker": _wording(("出厂车间", "印记"), "{s}从{v}的车间里出厂。", "{s}的底部刻着{v}的印记。"),
    "price": _wording(("吊牌", "柜台数目"), "{s}的吊牌上写着{v}。", "买下{s}要付{v}。"),
    "launch_year": _wording(
        ("首批货箱", "摆上货架"), "{s}在{v}年摆上货架。", "{s}的首批货箱在{v}年打开。"
    ),
    "category": _wording(("何物", "货架")),
    "agency": _wording(("执笔", "监督方"), "{s}出自{v}的笔下。", "{s}由{v}的检查员盯着。"),
    "effective_year": _wording(
        ("公报刊登", "约束之始"), "公报在{v}年刊登了{s}。", "{s}自{v}年起有约束力。"
    ),
    "topic": _wording(("涉及", "所管")),
    "limit": _wording(("{y}",)),
    "seat": _wording(
        ("大门", "接待处"), "{s}接待来访者的大厅在{v}。", "{s}的档案堆满了{v}的一座旧宫。"
    ),
    "director": _wording(("签名", "掌舵"), "{s}的信件带有{v}的签名。", "为{s}掌舵的是{v}。"),
    "established_year": _wording(
        ("法令", "诞生"), "{s}因{v}年的一道法令诞生。", "{s}最老的信件写于{v}年。"
    ),
    "permit_number": _wording(("参考号", "印记")),
    "permit_year": _wording(("盖章时间", "起始")),
    "permit_officer": _wording(("文书", "盖章者")),
    "permit_site": _wording(("烟囱", "车间")),
}
