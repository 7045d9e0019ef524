"""What the columns of logs of search engines are usually called."""

from __future__ import annotations

from labeler.exchange.columns import QUERY_TEXT, RANK
from labeler.trec.names import DOCUMENT_ID

COUNT = ("count", "frequency", "freq", "searches", "impressions", "volume", "hits", "n")
SESSION = ("session", "sessionid", "searchsession", "searchsessionid", "visit", "visitid")
CLICKS = ("clicks", "click", "clicked", "isclicked")
TIME = (
    *("time", "timestamp", "datetime", "date", "eventtime", "searchtime", "querytime", "logtime"),
    *("createdat", "requesttime", "day", "ts"),
)
USER = (
    *("userid", "user", "clientid", "client", "visitorid", "visitor", "anonid", "cookieid"),
    *("cookie", "deviceid", "customerid"),
)
SEARCH = ("queryid", "searchid", "requestid", "qid", "serpid", "impressionid")
ACTION = ("actionname", "action", "eventtype", "eventname", "event", "eventaction")
DWELL = ("dwelltime", "dwell", "dwellseconds", "timeonpage", "readingtime")
CLICK_TIME = ("clicktime", "clicktimestamp", "clickedat", "timeofclick")
THUMBS = ("thumbs", "thumb", "feedback", "vote", "helpful")
VARIANT = ("variant", "bucket", "arm", "treatment", "testgroup", "abgroup", "experiment", "system")
APPLICATION = ("application", "app", "applicationname")
AGENT = ("useragent", "agent", "browser", "httpuseragent")

EVENT_PARTS = {
    "query": ("query_field", QUERY_TEXT),
    "count": ("count_field", COUNT),
    "document": ("doc_field", DOCUMENT_ID),
    "rank": ("rank_field", RANK),
    "clicks": ("click_field", CLICKS),
    "session": ("session_field", SESSION),
    "time": ("time_field", TIME),
    "user": ("user_field", USER),
    "search": ("search_field", SEARCH),
    "action": ("action_field", ACTION),
    "dwell": ("dwell_field", DWELL),
    "click_time": ("click_time_field", CLICK_TIME),
    "thumbs": ("thumbs_field", THUMBS),
    "variant": ("variant_field", VARIANT),
    "application": ("application_field", APPLICATION),
    "agent": ("agent_field", AGENT),
}
"""What a row holds: the setting that names its column, and that column's usual names."""

SEARCH_PARTS = ("query", "count", "document", "rank", "clicks", "session")
"""What a row holds that says how often a query was typed, and what of its results was clicked."""
