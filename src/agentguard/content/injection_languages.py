"""The phrases that give an injection away in other languages than English.

Three of each language: earlier instructions dropped, the system prompt asked for, the user kept in the dark.
"""

from __future__ import annotations

from agentguard.content.injection_triggers import (
    CONTEXT_EXFILTRATION,
    INSTRUCTION_MANIPULATION,
    STRONG,
    SYSTEM_OVERRIDE,
    Trigger,
)

__all__ = ["LANGUAGES"]

_W = r"(?:\s+\S+){0,4}\s+"  # at most four words between
_W0 = r"(?:\s*\S+){0,3}\s*"  # at most three, where an article may be joined to its noun
_C = r"[^\n.!?。\x{ff01}\x{ff1f}]{0,12}"  # a few characters between, where words are not set apart

# Language: dropping earlier instructions; asking for the system prompt; keeping something from the user.
_PHRASES = {
    "German": (
        r"(?:ignorier\S*|vergiss|vergessen sie|missacht\S+|übergeh\S*|uebergeh\S*|beachte\S* nicht|verwirf"
        rf"|verwerfe\S*){_W}"
        r"(?:anweisung|instruktion|vorgabe|regel|befehl|prompt|richtlinie)",
        rf"(?:zeig\S*|nenn\S*|verrat\S*|gib|geben sie|wiederhol\S*|drucke\S*|offenbar\S*){_W}(?:system-?\s?prompt\S*"
        r"|systemanweisung\S*|systemnachricht\S*"
        r"|anfangsanweisung\S*)",
        rf"ohne{_W}(?:be)?nutzer\S*{_W}(?:sagen|informieren|mitzuteilen|erwähnen|fragen)"
        r"|(?:be)?nutzern? nichts (?:sagen|davon|verraten)"
        rf"|(?:sag|verrat|teile)\S*{_W}(?:be)?nutzern?{_W}nicht",
    ),
    "French": (
        r"(?:ignore[zr]?|oublie[zr]?|n[ée]glige[zr]?|ne (?:tiens|tenez) pas compte|ne (?:suis|suivez) (?:pas|plus)"
        r"|fais abstraction|faites abstraction)"
        rf"(?:\s+de| [àa])?\s+(?:l.|les|aux|toutes?|tous|tes|vos|ces|mes|des|cette|la|le){_W0}(?:instructions?"
        r"|consignes?|directives?|r[èe]gles|ordres|messages? (?:pr[ée]c|ant[ée]r))",
        rf"(?:r[ée]v[èe]le[zr]?|affiche[zr]?|montre[zr]?|donne[zr]?|r[ée]p[èe]te[zr]?|divulgue[zr]?){_W}(?:prompt"
        r"|invite|message|instructions?) (?:du |de )?syst[èe]me",
        rf"(?:sans{_W}(?:informer|pr[ée]venir|avertir|dire|pr[ée]ciser){_W}utilisat|(?:ne (?:dis|dites|pr[ée]viens"
        rf"|informe[zs]?)){_W}(?:l.|à l.|de l.)?utilisat"
        r"|sans (?:informer|pr[ée]venir|avertir) l.utilisat)",
    ),
    "Spanish": (
        r"(?:ignor[ae]r?|olvid[ae]r?|descart[ae]r?|haz caso omiso|hagas? caso omiso|no (?:sigas|hagas caso)"
        rf"|pas[ae] por alto|omit[ae]r?){_W}"
        r"(?:instrucci[oó]n|indicaci[oó]n|[oó]rdenes|reglas|directrices|mensajes? anterior|prompts?)",
        rf"(?:revel[ae]r?|muestr[ae]|mostrar|imprim[ae]|dime|dame|repit[ae]|divulg[ae]){_W}(?:prompt|mensaje"
        r"|instrucciones|indicaciones) (?:del |de )?sistema",
        rf"(?:sin{_W}(?:informar|avisar|decir|decirle|notificar|mencionar|preguntar)(?:lo|le)?{_W}usuario"
        r"|no (?:le )?(?:digas|informes|avises|menciones|cuentes)"
        r"[^\n.]{0,30}usuario)",
    ),
    "Italian": (
        rf"(?:ignora\S*|dimentica\S*|trascura\S*|tralascia\S*|non (?:seguire|considerare)|non tenere conto){_W}"
        r"(?:istruzion|indicazion|regole|direttiv|ordini|messaggi? precedent|prompt)",
        rf"(?:rivela\S*|mostra\S*|stampa\S*|dimmi|dammi|ripeti|divulga\S*){_W}(?:prompt|messaggio|istruzioni) (?:del "
        r"|di )?sistema",
        r"senza (?:informare|avvisare|avvertire|dire|dirlo|notificare)[^\n.]{0,20}utente|non (?:dire|dirlo|informare"
        r"|avvisare|menzionare)[^\n.]{0,30}utente",
    ),
    "Portuguese": (
        rf"(?:ignor[ea]\S*|esque[cç]a\S*|desconsider[ea]\S*|desprez[ea]\S*|n[ãa]o siga\S*){_W}(?:instru[cç][õoã]"
        r"|orienta[cç]|regras|diretrizes|ordens|comandos|prompts?)",
        rf"(?:revel[ea]\S*|mostr[ea]\S*|imprim\S*|diga|repita|divulgu?e\S*){_W}(?:prompt|mensagem"
        r"|instru[cç][õo]es) (?:do |de )?sistema",
        r"sem (?:informar|avisar|dizer|notificar|mencionar|perguntar)[^\n.]{0,20}usu[áa]rio|n[ãa]o (?:diga|informe"
        r"|avise|mencione|conte)[^\n.]{0,30}usu[áa]rio",
    ),
    "Dutch": (
        rf"(?:negeer|negeren|vergeet|sla{_W}over|volg{_W}niet|let niet op){_W}(?:instructie|opdracht|aanwijzing|regels"
        r"|richtlijn|prompt|bevel)",
        rf"(?:toon|onthul|geef|herhaal|laat|verklap){_W}(?:systeem-?\s?prompt|systeeminstructie|systeembericht"
        r"|systeemopdracht)",
        r"zonder (?:de |het )?(?:aan )?(?:de )?gebruiker[^\n.]{0,20}(?:vertellen|informeren|melden|laten weten|vragen)"
        r"|(?:vertel|zeg|meld)[^\n.]{0,20}gebruiker (?:niets|niet)",
    ),
    "Russian": (
        r"(?:игнорир\S*|проигнорируй\S*|забудь\S*|не обращай\S* внимания|отбрось\S*|не следуй\S*"
        r"|пренебрег\S*)(?:\s+[^\s]+){0,4}\s+(?:инструкц|указани|команд|правил|промпт"
        r"|распоряжени|директив)",
        rf"(?:покажи|раскрой|выведи|повтори|сообщи|назови)\S*{_W}системн\S+ (?:промпт|сообщени|инструкц|подсказк)"
        r"|(?:покажи|раскрой|выведи|повтори)\S* системн\S+ (?:промпт|сообщени|инструкц|подсказк)",
        r"не (?:говори|сообщай|рассказывай|упоминай)[^\n.]{0,30}пользовател|(?:без ведома|втайне от|не сообщая"
        r"|не говоря)[^\n.]{0,15}пользовател",
    ),
    "Chinese": (
        rf"(?:忽略|无视|忘记|忘掉|不要理会|不要遵守|請忽略|無視|忘記|不管){_C}(?:指令|指示|提示|规则|規則|要求|命令|说明|說明|内容)",
        rf"(?:显示|輸出|输出|透露|告诉我|告訴我|重复|泄露|打印|展示){_C}(?:系统提示|系統提示|系统指令|系統指令|初始指令|系统消息)",
        r"(?:不要|别|不得|勿|無需|无需)(?:告诉|告知|通知|提醒|让|告訴)用户?[^\n。]{0,6}",
    ),
    "Japanese": (
        rf"(?:指示|命令|プロンプト|ルール|指令|規則|制約){_C}(?:無視|忘れ|従わない|破棄|無効)",
        rf"(?:システム\s?プロンプト|システムメッセージ|初期指示|システム指示){_C}(?:表示|教え|出力|公開|見せ|開示|繰り返)",
        rf"(?:ユーザー?|利用者){_C}(?:知らせず|伝えず|言わず|教えず|知らせない|伝えない|言わない|教えない|内緒)",
    ),
    "Korean": (
        rf"(?:지시|명령|프롬프트|규칙|지침|안내){_C}(?:무시|잊어|따르지|잊으)",
        rf"(?:시스템\s?(?:프롬프트|메시지|지시|명령)){_C}(?:보여|출력|알려|공개|말해|표시|반복)",
        rf"(?:사용자|유저){_C}(?:알리지|말하지|모르게|몰래|통보하지)",
    ),
    "Arabic": (
        r"(?:تجاهل|انس|إنس|أهمل|لا تتبع|تجاوز)\S*(?:\s+\S+){0,3}\s+\S*(?:التعليمات|تعليمات|الأوامر|أوامر|التوجيهات"
        r"|القواعد|الإرشادات|الموجه)",
        r"(?:اعرض|أظهر|اكشف|اطبع|كرر|أخبرني)\S*(?:\s+\S+){0,3}\s+\S*(?:موجه النظام|تعليمات النظام|رسالة النظام"
        r"|مطالبة النظام)",
        r"(?:لا تخبر|دون إخبار|بدون إخبار|دون علم|بدون علم|لا تذكر)(?:\s+\S+){0,2}\s*\S*المستخدم",
    ),
    "Hindi": (
        r"(?:निर्देश|आदेश|नियम|अनुदेश|प्रॉम्प्ट)\S*(?:\s+\S+){0,3}\s+(?:अनदेखा|नज़रअंदाज|नजरअंदाज|भूल|उपेक्षा|अनदेखी"
        r"|इग्नोर|न मान)",
        r"सिस्टम\s+(?:प्रॉम्प्ट|संदेश|निर्देश)\S*(?:\s+\S+){0,3}\s+(?:दिखा|बता|प्रकट|दोहरा|प्रिंट)",
        r"(?:उपयोगकर्ता|यूज़र|यूजर)\s+को(?:\s+\S+){0,3}\s+(?:मत बता|न बता|बताए बिना|बिना बताए|सूचित न|पता न)",
    ),
}
_LATIN = {"German", "French", "Spanish", "Italian", "Portuguese", "Dutch"}
_MEANING = (
    ("override", SYSTEM_OVERRIDE, "tells to drop earlier instructions"),
    ("exfiltration", CONTEXT_EXFILTRATION, "asks for the system prompt"),
    ("manipulation", INSTRUCTION_MANIPULATION, "wants something kept from the user"),
)

LANGUAGES = tuple(
    Trigger(
        f"{topic}/{language}",
        category,
        STRONG,
        f"{detail}, in {language}",
        rf"(?i)\b(?:{regex})" if language in _LATIN else f"(?i){regex}",
    )
    for language, phrases in _PHRASES.items()
    for (topic, category, detail), regex in zip(_MEANING, phrases, strict=True)
)
