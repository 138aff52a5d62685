/**
 * Hosts without `www.`, packages of Android apps, and values of `utm_source`, by the kind of place
 * that they stand for; as of November 2026. The lists that npm has are derived from one under the
 * GPL, or know no assistants. So this one is the package's own. Each name is compared as a whole.
 */
export const SOURCES = {
  search:
    'google.com google.ad google.ae google.com.af google.com.ag google.al google.am ' +
    'google.co.ao google.com.ar google.as google.at google.com.au google.az google.ba ' +
    'google.com.bd google.be google.bf google.bg google.com.bh google.bi google.bj ' +
    'google.com.bn google.com.bo google.com.br google.bs google.bt google.co.bw google.by ' +
    'google.com.bz google.ca google.cd google.cf google.cg google.ch google.ci google.co.ck ' +
    'google.cl google.cm google.cn google.com.co google.co.cr google.com.cu google.cv ' +
    'google.com.cy google.cz google.de google.dj google.dk google.dm google.com.do google.dz ' +
    'google.com.ec google.ee google.com.eg google.es google.com.et google.fi google.com.fj ' +
    'google.fm google.fr google.ga google.ge google.gg google.com.gh google.com.gi google.gl ' +
    'google.gm google.gr google.com.gt google.gy google.com.hk google.hn google.hr google.ht ' +
    'google.hu google.co.id google.ie google.co.il google.im google.co.in google.iq google.is ' +
    'google.it google.je google.com.jm google.jo google.co.jp google.co.ke google.com.kh ' +
    'google.ki google.kg google.co.kr google.com.kw google.kz google.la google.com.lb ' +
    'google.li google.lk google.co.ls google.lt google.lu google.lv google.com.ly ' +
    'google.co.ma google.md google.me google.mg google.mk google.ml google.com.mm google.mn ' +
    'google.com.mt google.mu google.mv google.mw google.com.mx google.com.my google.co.mz ' +
    'google.com.na google.com.ng google.com.ni google.ne google.nl google.no google.com.np ' +
    'google.nr google.nu google.co.nz google.com.om google.com.pa google.com.pe google.com.pg ' +
    'google.com.ph google.com.pk google.pl google.pn google.com.pr google.ps google.pt ' +
    'google.com.py google.com.qa google.ro google.ru google.rw google.com.sa google.com.sb ' +
    'google.sc google.se google.com.sg google.sh google.si google.sk google.com.sl google.sn ' +
    'google.so google.sm google.sr google.st google.com.sv google.td google.tg google.co.th ' +
    'google.com.tj google.tl google.tm google.tn google.to google.com.tr google.tt ' +
    'google.com.tw google.co.tz google.com.ua google.co.ug google.co.uk google.com.uy ' +
    'google.co.uz google.com.vc google.co.ve google.co.vi google.com.vn google.vu google.ws ' +
    'google.rs google.co.za google.co.zm google.co.zw google.cat ' +
    'com.google.android.googlequicksearchbox bing.com cn.bing.com duckduckgo.com ' +
    'html.duckduckgo.com lite.duckduckgo.com search.yahoo.com r.search.yahoo.com ' +
    'search.yahoo.co.jp uk.search.yahoo.com de.search.yahoo.com fr.search.yahoo.com ' +
    'es.search.yahoo.com it.search.yahoo.com ca.search.yahoo.com au.search.yahoo.com ' +
    'in.search.yahoo.com br.search.yahoo.com baidu.com m.baidu.com yandex.com yandex.ru ' +
    'yandex.kz yandex.by yandex.uz yandex.com.tr ya.ru ecosia.org qwant.com lite.qwant.com ' +
    'startpage.com search.brave.com kagi.com search.naver.com m.search.naver.com ' +
    'search.daum.net search.seznam.cz sogou.com so.com mojeek.com swisscows.com metager.org ' +
    'metager.de petalsearch.com search.aol.com ask.com presearch.com google bing duckduckgo ' +
    'yahoo baidu yandex ecosia qwant brave kagi naver',
  social:
    'facebook.com l.facebook.com lm.facebook.com m.facebook.com web.facebook.com ' +
    'com.facebook.katana instagram.com l.instagram.com com.instagram.android threads.net ' +
    'threads.com l.threads.net l.threads.com x.com twitter.com mobile.twitter.com t.co ' +
    'com.twitter.android linkedin.com lnkd.in com.linkedin.android reddit.com old.reddit.com ' +
    'new.reddit.com out.reddit.com com.reddit.frontpage pinterest.com pinterest.de ' +
    'pinterest.fr pinterest.co.uk pin.it com.pinterest youtube.com m.youtube.com youtu.be ' +
    'com.google.android.youtube tiktok.com vk.com m.vk.com away.vk.com ok.ru weibo.com t.cn ' +
    'xing.com tumblr.com t.umblr.com quora.com bsky.app go.bsky.app mastodon.social ' +
    'mastodon.online fosstodon.org news.ycombinator.com lobste.rs t.me web.telegram.org ' +
    'org.telegram.messenger web.whatsapp.com wa.me com.whatsapp discord.com com.discord ' +
    'facebook fb instagram ig threads twitter x linkedin reddit pinterest youtube tiktok vk ' +
    'bluesky mastodon telegram whatsapp discord hackernews',
  assistants:
    'chatgpt.com chat.openai.com com.openai.chatgpt claude.ai com.anthropic.claude ' +
    'gemini.google.com bard.google.com notebooklm.google.com perplexity.ai ' +
    'ai.perplexity.app.android copilot.microsoft.com copilot.cloud.microsoft ' +
    'm365.cloud.microsoft chat.deepseek.com chat.mistral.ai grok.com meta.ai duck.ai you.com ' +
    'phind.com poe.com kimi.com kimi.moonshot.cn chat.qwen.ai doubao.com yiyan.baidu.com ' +
    'chatglm.cn iask.ai andisearch.com chatgpt openai claude gemini perplexity copilot ' +
    'deepseek mistral grok',
  mail:
    'mail.google.com com.google.android.gm outlook.live.com outlook.office.com ' +
    'outlook.office365.com outlook.cloud.microsoft com.microsoft.office.outlook ' +
    'mail.yahoo.com mail.yahoo.co.jp mail.aol.com mail.proton.me app.fastmail.com ' +
    'mail.zoho.com mail.zoho.eu e.mail.ru mail.yandex.com mail.yandex.ru mail.qq.com ' +
    'mail.163.com mail.126.com mail.naver.com deref-gmx.net deref-gmx.com deref-web.de ' +
    'deref-mail.com newsletter email e-mail mail',
} as const
