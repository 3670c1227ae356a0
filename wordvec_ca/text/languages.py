"""Letters and frequent words of languages, by which encodings of one byte a character are told apart."""

from __future__ import annotations

LANGUAGES: dict[str, tuple[str, str]] = {
    "bg": ("абвгдежзийклмнопрстуфхцчшщъьюя", "и на да се не за от в с по е са че със до този като има беше"),
    "ca": ("àèéíïòóúüç·", "de la el i les que els en a un una per amb no del és al va ha més com es ser"),
    "cs": ("áčďéěíňóřšťúůýž", "a v se na je že s z do o to i jsem jako ve by pro za po k ale byl jen není"),
    "da": ("æøåé", "og i at det er en til af den som på de med for ikke der et han har var om jeg fra men"),
    "de": ("äöüß", "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch"),
    "el": ("αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΐΰ", "και το να του η της με που την από για είναι στο ο τα"),
    "es": ("áéíñóúü¿¡ªº", "de la que el en y a los se del las un por con no una su para es al lo como más"),
    "et": ("äöõüšž", "ja on ei et see ta oli kui ka mis oma ning aga siis nii või seda pole kas selle ma"),
    "fi": ("äöåšž", "ja on ei että se oli hän joka kun ovat myös mutta ole kuin niin tai sen jo en mukaan"),
    "fr": (
        "àâæçéèêëîïôœùûüÿ",
        "de la le et les des en un du une que est pour qui dans a par plus pas au sur",
    ),
    "hr": ("čćđšž", "i je u se na da su za od s ne bi kao koji što o iz ili nije bio ali po kako samo sam"),
    "hu": ("áéíóöőúüű", "a az és hogy nem is egy meg ez volt de csak már ha van mint vagy el azt még lehet"),
    "is": ("áðéíóúýþæö", "og í að á er sem til það um við en með ekki var hann af fyrir ég hún þetta þess"),
    "it": ("àèéìíîòóùú", "di e il la che in un per è a del non una con della i le si sono da al come più ha"),
    "lt": ("ąčęėįšųūž", "ir kad yra į su iš tai ne o bet buvo kaip jis dar tik nuo ar už per jau apie po"),
    "lv": (
        "āčēģīķļņšūž",
        "un ir ka no par ar uz bet kas tas arī nav kā vai lai bija pie to viņš ja tikai ne",
    ),
    "nl": ("áäéèêëïíóöüú", "de het een van en in is dat op te niet zijn met voor die er aan ook maar om als"),
    "no": ("æøåéòôó", "og i det er som på en til å av for at ikke med den har et var han de om jeg fra men"),
    "pl": ("ąćęłńóśźż", "i w na z się nie do to że jest o jak po co za ale od tak przez już tylko jego był"),
    "pt": ("áâãàçéêíóôõúüªº", "de a o que e do da em um para é com não uma os no se na por mais as dos ao"),
    "ro": (
        "ăâîșțşţ",
        "de și şi în a la cu pe nu că o un să din se este care mai pentru au ca o fost dar sunt",
    ),
    "ru": ("абвгдеёжзийклмнопрстуфхцчшщъыьэюя", "и в не на что я с он как это а по но его к из у же за да"),
    "sk": (
        "áäčďéíĺľňóôŕšťúýž",
        "a v sa na je že s z do o to aj ako ale by pre som za po k bol si už nie len",
    ),
    "sl": ("čšž", "in je v na se da za so ki ne s z pa bi kot o po ni bil ali tudi če še iz od sem že kako"),
    "sv": ("åäöé", "och i att det som en på är av för med den till inte om ett han de har var jag men från"),
    "tr": (
        "çğıöşüâîû",
        "ve bir bu da de için ile çok ne daha o gibi olan kadar var sonra ama her ben diye en",
    ),
    "uk": ("абвгґдеєжзиіїйклмнопрстуфхцчшщьюя", "і в не на що з у та до як я він це по за а але його є про"),
}
"""Language -> its letters beyond ASCII, and about twenty of its most frequent words.

Several languages share most letters and no two share most frequent words, which mostly are ASCII and so the
same in every encoding: words tell the language, letters the encoding.
"""
