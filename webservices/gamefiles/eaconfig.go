package gamefiles

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// eaConfig is the content of config.txt of EA's games.
//
//	<PingServers>            hosts that the game pings, one in a line
//	</PingServers>
//	<PingDuration>           how, in milliseconds
//	reps = 1
//	timeout = 1000
//	low = 300
//	med = 600
//	</PingDuration>
//	<QMMaps>                 folders of maps; their order is that of the bits in CINFO
//	</QMMaps>
//	<QMBot>                  the program that brings players together
//	id = 17461195
//	</QMBot>
//	<Manglers>               NAT helpers, host:port
//	</Manglers>
//	<Custom>
//	restricted = 0           1: a lobby room shows only its own games
//	</Custom>
//	<Ladders> ...            as the operator wrote them
//
// The game takes the file for missing below 100 bytes and overwrites its last byte.
type eaConfig struct {
	pingServers []string
	maps        []string
	bot         uint32 // 0: there is none
	manglers    []string
	ladders     string
}

// Lengths of config.txt.
const (
	leastConfig = 100
	// paddedTo is the number of lengths that a file may have beyond its own: games compare
	// nothing but lengths, so each content gets one of its own.
	paddedTo = 2048
	padLine  = 79
)

// text returns the file. Two with another content nearly always have another length.
func (c *eaConfig) text() string {
	var b strings.Builder
	section := func(name string, lines []string) {
		b.WriteString("<" + name + ">\n")
		for _, l := range lines {
			b.WriteString(l + "\n")
		}
		b.WriteString("</" + name + ">\n")
	}
	section("PingServers", c.pingServers)
	section("PingDuration", []string{"reps = 1", "timeout = 1000", "low = 300", "med = 600"})
	if len(c.maps) > 0 {
		section("QMMaps", c.maps)
	}
	if c.bot != 0 {
		section("QMBot", []string{"id = " + strconv.FormatUint(uint64(c.bot), 10)})
	}
	section("Manglers", c.manglers)
	section("Custom", []string{"restricted = 0"})
	if text := strings.TrimSpace(strings.ReplaceAll(c.ladders, "\r", "")); text != "" {
		b.WriteString(text + "\n")
	}
	return pad(b.String())
}

// pad appends lines of spaces, which games skip, until the length depends on all of
// the text. The text ends with a line feed.
func pad(text string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // never fails
	want := len(text) - len(text)%paddedTo + int(h.Sum32()%paddedTo)
	if want < max(len(text), leastConfig) {
		want += paddedTo
	}
	b := []byte(text)
	for missing := want - len(text); missing > 0; {
		n := min(missing, padLine+1)
		b = append(b, strings.Repeat(" ", n-1)...)
		b = append(b, '\n')
		missing -= n
	}
	return string(b)
}
