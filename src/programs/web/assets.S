// The files of the bundle, byte for byte: NAME and NAME_end for each (assets.cpp).

#define TEXT(x) #x
#define PATH(folder, name) TEXT(folder/name)
#define ASSET(symbol, name)                  \
  .globl symbol;                             \
  .globl symbol##_end;                       \
  symbol: .incbin PATH(BUNDLE, name);        \
  symbol##_end: .byte 0;

        .section .rodata
ASSET(tranche_web_index, index.html)
ASSET(tranche_web_script, app.js)
ASSET(tranche_web_style, app.css)
ASSET(tranche_web_icon, favicon.svg)
ASSET(tranche_web_report, report.html)

        .section .note.GNU-stack,"",%progbits
