"""Text that tells a model what to do, found in notes: it is left out of what a dream reads, and never promoted.

Rules, so they miss some. What they miss is still quoted as data, never in the system role, and keeps its trust. What
people say of models, prompts and rules is no instruction ("the system prompt stays under 200 tokens", "remember this
rule: tests before a commit"): of what they said, only what turns against the instructions of a model is left out.
"""

import re

LEFT_OUT = {"en": "[left out: it reads as an instruction to a model]", "zh": "[略去：这一行像是给模型的指令]"}

# Whoever wrote it: what sets aside a model's instructions, or speaks as if it were them.
_ALWAYS = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:previous|prior|above|earlier|all|your|system|safety)\b"
    r".{0,30}\b(?:instructions?|prompts?|guidelines?)\b"
    r"|\b(?:ignore|disregard|override|bypass)\b.{0,20}\b(?:previous|prior|above|earlier|your|system|safety)\b.{0,20}\brules?\b"
    r"|^[\s>*#-]*(?:system|developer)(?: prompt| message)?\s*[:：].{0,60}\b(?:new |updated )?"
    r"(?:rules?|instructions?|must|always|never|ignore|obey|you)\b"
    r"|\b(?:new|updated) system (?:rules?|instructions?|policy|prompt)\s*[:：]"
    r"|</(?:system|memory|instructions?|recalled-memory|vault-file)>"
    r"|(?:忽略|无视|不要理会).{0,12}(?:之前|以上|前面|所有|系统|原来).{0,8}(?:指令|指示|提示|规则|要求)"
    r"|^[\s>*#-]*(?:系统|开发者)(?:提示词?|消息|指令)?\s*[:：].{0,30}(?:规则|指令|必须|忽略|服从|你)",
    re.IGNORECASE | re.MULTILINE,
)
# In what came from outside: what tells a reader who acts for the user what to do.
_FROM_OUTSIDE = re.compile(
    r"^[\s>*#-]*(?:system|developer|assistant)(?: prompt| message)?\s*[:：]|\bsystem prompt\b|\brole\s*:\s*system\b"
    r"|<\|[a-z_]{2,20}\|>|\[/?INST\]|</?\s*(?:system|memory|instructions?|assistant|tool_result|note|unit)\b[^>]*>"
    r"|\b(?:new|updated) (?:rules?|instructions?|policy)\s*[:：]"
    r"|\b(?:remember|save|store|add|follow|obey) (?:this|the following|these) (?:as (?:a )?)?(?:new )?"
    r"(?:rules?|instructions?|commands?)\b"
    r"|\b(?:do not|don['’]t|never) (?:tell|inform|mention\b.{0,20}\bto|let)\b.{0,20}\b(?:the )?users?\b"
    r"|\byou are (?:now|an? (?:ai|assistant|agent|model))\b|\bact as\b|\bpretend\b"
    r"|\b(?:always|never|must|from now on|whenever|every time|after answering|before answering|when asked"
    r"|when answering)\b"
    r".{0,80}\b(?:https?://|www\.|e-?mail|users?|assistant|agent|model|answers?|repl(?:y|ies)|send|forward|upload|post|call|run"
    r"|execute|delete|remember)"
    r"|\b(?:send|forward|upload|post|exfiltrate|leak)\b.{0,60}(?:https?://|www\.|@[\w-]+\.)"
    r"|\b(?:assistant|agent|ai|model)s?\b.{0,30}\b(?:must|should|shall|needs? to|has to|have to)\b"
    r"|\b(?:please )?(?:call|run|execute|invoke|use) (?:the )?[\w`]+ (?:tool|function|command)\b"
    r"|(?:你现在是|你是一个|扮演|假装)|(?:系统提示词?|新的?(?:系统)?(?:规则|指令|提示))\s*[:：]"
    r"|(?:不要|别)(?:告诉|通知|让)用户|(?:记住|遵守|执行)(?:这条|以下|下面的?)(?:规则|指令|命令)"
    r"|(?:以后|今后|从现在起|每次|总是|必须|务必|一定要|回答(?:之?后|之?前|时))"
    r".{0,30}(?:发送|发给|转发|上传|执行|运行|调用|删除|回复|回答|记住|https?://)"
    r"|(?:发送|发给|转发|上传)(?:到|至|给)?.{0,20}(?:https?://|www\.|@)"
    r"|(?:助手|智能体|模型)(?:必须|应该|应当|需要|务必|要)",
    re.IGNORECASE | re.MULTILINE,
)


def instructs(text: str, *, external: bool) -> bool:
    """Whether a text reads as an instruction to a model. What came from outside the conversation is judged harder."""
    return _ALWAYS.search(text) is not None or (external and _FROM_OUTSIDE.search(text) is not None)
