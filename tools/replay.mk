# slidewin-replay, with the module's own sw_*.c.
#
#   make -f tools/replay.mk ROOT=... OUT=... VERSION=... [SANITIZE=...]

SRC     = $(ROOT)/ngx_http_slidewin_module/sw
REPLAY  = $(ROOT)/replay

OBJECTS = $(patsubst %.c,$(OUT)/%.o, \
            $(notdir $(wildcard $(REPLAY)/*.c) $(wildcard $(SRC)/*.c)))

WARN    = -Wall -Wextra -Werror -Wno-unused-parameter -Wshadow \
          -Wstrict-prototypes -Wvla
FLAGS   = -std=gnu11 -D_GNU_SOURCE -DREPLAY_VERSION='"$(VERSION)"' -O2 -g -flto=auto \
          $(WARN) $(HARDEN) -I$(REPLAY) -I$(SRC) -I$(OUT) -MMD -MP $(SANITIZE)
HARDEN  = -fstack-protector-strong
LIBS    = -lpcre2-8 -lz -lpthread

vpath %.c $(REPLAY) $(SRC)

$(OUT)/slidewin-replay: $(OBJECTS)
	$(CC) -O2 -flto=auto $(SANITIZE) -o $@ $^ $(LIBS)

$(OUT)/%.o: %.c $(MAKEFILE_LIST)
	$(CC) $(FLAGS) -c -o $@ $<

# the page is a part of the program
$(OUT)/replay_report_html.o: $(OUT)/replay_report_page.h

$(OUT)/replay_report_page.h: $(REPLAY)/report.html $(REPLAY)/embed.sh
	sh $(REPLAY)/embed.sh $< > $@ || { rm -f $@; exit 1; }

-include $(wildcard $(OUT)/*.d)
