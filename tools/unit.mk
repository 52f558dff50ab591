# The C tests (t/unit/test_*.c) and fuzz targets (t/unit/fuzz_*.c): each a
# program of its own with all of sw_*.c, and of replay/ but its main(); other
# files in t/unit are shared.
#
#   make -f tools/unit.mk ROOT=... OUT=... unit|fuzz

SRC     = $(ROOT)/ngx_http_slidewin_module/sw
REPLAY  = $(ROOT)/replay
T       = $(ROOT)/t/unit

TESTS   = $(patsubst $(T)/%.c,%,$(wildcard $(T)/test_*.c))
FUZZERS = $(patsubst $(T)/%.c,%,$(wildcard $(T)/fuzz_*.c))
COMMON  = $(notdir $(wildcard $(SRC)/sw_*.c) \
            $(filter-out %/replay_main.c,$(wildcard $(REPLAY)/*.c)) \
            $(filter-out $(T)/test_%.c $(T)/fuzz_%.c,$(wildcard $(T)/*.c)))

WARN    = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wvla
FLAGS   = -std=gnu11 -DSW_STEPS=1 -g -O1 -fno-omit-frame-pointer $(WARN) \
          -Wno-unused-parameter -D_GNU_SOURCE -DREPLAY_VERSION='"unit"' \
          -I$(SRC) -I$(REPLAY) -I$(T) -I$(@D) -MMD -MP \
          -fno-sanitize-recover=all
UNIT    = -fsanitize=address,undefined
FUZZ    = -fsanitize=address,undefined,fuzzer
LIBS    = -lpcre2-8 -lz -lpthread -lm

vpath %.c $(SRC) $(REPLAY) $(T)

unit: $(TESTS:%=$(OUT)/unit/%)
fuzz: $(FUZZERS:%=$(OUT)/fuzz/%)

$(OUT)/unit/%.o: %.c $(MAKEFILE_LIST)
	gcc $(FLAGS) $(UNIT) -c -o $@ $<

$(OUT)/unit/%: $(OUT)/unit/%.o $(COMMON:%.c=$(OUT)/unit/%.o)
	gcc $(UNIT) -o $@ $^ $(LIBS)

$(OUT)/fuzz/%.o: %.c $(MAKEFILE_LIST)
	clang $(FLAGS) $(FUZZ) -c -o $@ $<

$(OUT)/fuzz/%: $(OUT)/fuzz/%.o $(COMMON:%.c=$(OUT)/fuzz/%.o)
	clang $(FUZZ) -o $@ $^ $(LIBS)

$(OUT)/unit/replay_report_html.o: $(OUT)/unit/replay_report_page.h
$(OUT)/fuzz/replay_report_html.o: $(OUT)/fuzz/replay_report_page.h

$(OUT)/%/replay_report_page.h: $(REPLAY)/report.html $(REPLAY)/embed.sh
	sh $(REPLAY)/embed.sh $< > $@ || { rm -f $@; exit 1; }

.SECONDARY:
.PHONY: unit fuzz

-include $(wildcard $(OUT)/unit/*.d $(OUT)/fuzz/*.d)
