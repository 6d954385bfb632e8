package a2s

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// splits are the forms of a split message, by their files.
var splits = map[string]Splitter{
	"split_goldsource":          {Format: GoldSource, ID: 0x2A, Size: 400},
	"split_source":              {Format: Source, ID: 7, Size: 400},
	"split_sizeless":            {Format: Source, ID: 7, Size: 400, Sizeless: true},
	"split_compressed":          {Format: Source, ID: 7, Size: 100},
	"split_compressed_sizeless": {Format: Source, ID: 7, Size: 100, Sizeless: true},
}

// compressedRules is the bzip2 stream of testdata/rules.hex, as the packets of
// a file hold it.
func compressedRules(t testing.TB) (stream []byte) {
	t.Helper()
	for i, p := range packetsOf(t, "split_compressed") {
		head := headerSize + idSize + 4
		if i == 0 {
			head += compressedHead
		}
		stream = append(stream, p[head:]...)
	}
	return stream
}

func TestSplitMessagesBothWays(t *testing.T) {
	want := Message{KindRules, bodyOf(t, "rules", KindRules)}
	for name, s := range splits {
		if name == "split_compressed" || name == "split_compressed_sizeless" {
			s.Compressed = compressedRules(t)
		}
		packets := packetsOf(t, name)
		got, err := s.Split(packetOf(t, "rules"))
		if diff := cmp.Diff(packets, got); diff != "" || err != nil {
			t.Errorf("%s: Split: error %v (-want +got):\n%s", name, err, diff)
		}
		for _, sizeless := range []bool{false, true} { // the packets show it
			a := Assembly{Sizeless: sizeless}
			if diff := cmp.Diff(want, assemble(t, &a, packets...), asWhole); diff != "" {
				t.Errorf("%s: message (-want +got):\n%s", name, diff)
			}
			if a.Size() != 0 || len(a.begun) != 0 {
				t.Errorf("%s: %d bytes of %d messages are left", name, a.Size(), len(a.begun))
			}
		}
	}
}

// asWhole compares bodies at once, which cmp.Diff does byte by byte.
var asWhole = cmp.Comparer(bytes.Equal)

// assemble adds packets. It fails unless the message is whole with the last.
func assemble(t testing.TB, a *Assembly, packets ...[]byte) (m Message) {
	t.Helper()
	for i, p := range packets {
		got, whole, err := a.Add(p)
		if err != nil || whole != (i == len(packets)-1) {
			t.Fatalf("Add(packet %d of %d) = %v, %v", i+1, len(packets), whole, err)
		}
		m = got
	}
	return m
}

func TestPartsComeInAnyOrderAndMoreThanOnce(t *testing.T) {
	want := Message{KindRules, bodyOf(t, "rules", KindRules)}
	for name := range splits {
		for seed := range uint64(20) {
			random := rand.New(rand.NewPCG(seed, 1))
			packets := packetsOf(t, name)
			random.Shuffle(len(packets), func(i, j int) { packets[i], packets[j] = packets[j], packets[i] })
			last := packets[len(packets)-1]
			for range 3 { // copies of all but the last
				p := packets[random.IntN(len(packets)-1)]
				packets = slices.Insert(packets, random.IntN(len(packets)-1), p)
			}
			var a Assembly
			if diff := cmp.Diff(want, assemble(t, &a, packets...), asWhole); diff != "" {
				t.Fatalf("%s, order %d (-want +got):\n%s", name, seed, diff)
			}
			if _, whole, err := a.Add(last); whole || err != nil {
				t.Errorf("%s: a copy after the end: %v, %v", name, whole, err)
			}
		}
	}
}

func TestWithoutOnePartAMessageIsNotWhole(t *testing.T) {
	for name := range splits {
		for missing := range packetsOf(t, name) {
			var a Assembly
			for i, p := range packetsOf(t, name) {
				if i == missing {
					continue
				}
				if _, whole, err := a.Add(p); whole || err != nil {
					t.Errorf("%s without part %d: %v, %v", name, missing, whole, err)
				}
			}
			a.Reset()
			if a.Size() != 0 {
				t.Errorf("%s: %d bytes after Reset", name, a.Size())
			}
		}
	}
}

// message is a KindRules of n bytes that begins with a word.
func message(word string, n int) []byte {
	m := append(appendHeader(nil, KindRules), word...)
	random := rand.New(rand.NewPCG(uint64(n), uint64(len(word))))
	for len(m) < n {
		m = append(m, byte(random.Uint32()))
	}
	return m
}

func split(t testing.TB, s Splitter, m []byte) [][]byte {
	t.Helper()
	packets, err := s.Split(m)
	if err != nil {
		t.Fatalf("Split: %v", err)
	}
	return packets
}

// The two formats do not say which one they are, and any data may follow. From 16
// parts on, those of Source look like GoldSource by themselves.
func TestFormatDetection(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 2))
		for _, s := range []Splitter{
			{Format: GoldSource, Size: 1 + random.IntN(30)},
			{Format: Source, Size: 1 + random.IntN(30)},
			{Format: Source, Size: 1 + random.IntN(30), Sizeless: true},
		} {
			s.ID = random.Uint32()
			most := MaxPackets
			if s.Format == GoldSource {
				most = maxGoldSource
			}
			want := message("x", max(s.Size*(1+random.IntN(most)), 7))
			if (len(want)-1)/s.Size >= most {
				continue
			}
			packets := split(t, s, want)
			random.Shuffle(len(packets), func(i, j int) { packets[i], packets[j] = packets[j], packets[i] })
			a := Assembly{Sizeless: s.Sizeless}
			if diff := cmp.Diff(Message{KindRules, want[5:]}, assemble(t, &a, packets...), asWhole); diff != "" {
				t.Fatalf("%+v, %d parts (-want +got):\n%s", s, len(packets), diff)
			}
		}
	}
}

func TestMessagesAreMixed(t *testing.T) {
	var queue [][]byte
	bodies := map[string]bool{}
	for i, s := range []Splitter{
		{Format: GoldSource, ID: 1, Size: 10}, {Format: Source, ID: 2, Size: 10}, {Format: Source, ID: 3, Size: 2}, {Format: GoldSource, ID: 4, Size: 12},
	} {
		m := message("abcd"[i:i+1], 80+i)
		bodies[string(m[5:])] = true
		queue = append(queue, split(t, s, m)...)
	}
	if len(bodies) != MaxAtOnce {
		t.Fatalf("%d messages, want %d", len(bodies), MaxAtOnce)
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(queue), func(i, j int) { queue[i], queue[j] = queue[j], queue[i] })
	var a Assembly
	for _, p := range queue {
		m, whole, err := a.Add(p)
		if err != nil {
			t.Fatal(err)
		}
		if whole && !bodies[string(m.Body)] {
			t.Errorf("message %q", m.Body)
		}
		if whole {
			delete(bodies, string(m.Body))
		}
	}
	if len(bodies) > 0 {
		t.Errorf("%d messages did not come out", len(bodies))
	}
}

func TestTheOldestMessageIsForgotten(t *testing.T) {
	var a Assembly
	for id := range uint32(MaxAtOnce + 1) {
		if _, whole, err := a.Add(split(t, Splitter{Format: Source, ID: id, Size: 10}, message("x", 40))[0]); whole || err != nil {
			t.Fatal(whole, err)
		}
	}
	for id, want := range []bool{false, true, true, true, true} {
		if i := slices.IndexFunc(a.begun, func(b *begun) bool { return b.id == uint32(id) }); (i >= 0) != want {
			t.Errorf("message %d is held: %v, want %v", id, i >= 0, want)
		}
	}
}

func TestAnIDThatComesAgainIsANewMessage(t *testing.T) {
	old := Splitter{Format: Source, ID: 5, Size: 20}
	for name, again := range map[string]Splitter{
		"the same form":  {Format: Source, ID: 5, Size: 20},
		"another count":  {Format: Source, ID: 5, Size: 9},
		"the other form": {Format: GoldSource, ID: 5, Size: 20},
	} {
		for _, first := range []int{0, 1, 2} {
			var a Assembly
			if _, whole, err := a.Add(split(t, old, message("old", 80))[first]); whole || err != nil {
				t.Fatal(whole, err)
			}
			want := message("new", 81)
			packets := split(t, again, want)
			packets[0], packets[first] = packets[first], packets[0]
			if diff := cmp.Diff(Message{KindRules, want[5:]}, assemble(t, &a, packets...), asWhole); diff != "" {
				t.Errorf("%s, part %d first (-want +got):\n%s", name, first, diff)
			}
		}
	}
}

func TestNestedHeadersAreRead(t *testing.T) {
	plain := packetOf(t, "rules")
	want := Message{KindRules, plain[5:]}
	for name, inner := range map[string][]byte{
		"none": plain[4:], "one": plain, "two": append(slices.Clone(single), plain...),
	} {
		for _, s := range []Splitter{
			{Format: GoldSource, Size: 200}, {Format: Source, Size: 200}, {Format: Source, Size: 200, Sizeless: true},
		} {
			a := Assembly{Sizeless: s.Sizeless}
			if diff := cmp.Diff(want, assemble(t, &a, split(t, s, inner)...)); diff != "" {
				t.Errorf("%s in %+v (-want +got):\n%s", name, s, diff)
			}
		}
	}
}

func TestGamesWhosePacketsHaveNoSize(t *testing.T) {
	for _, tc := range []struct {
		app      App
		protocol uint8
		want     bool
	}{
		{215, 7, true}, {17550, 0, true}, {17700, 15, true}, {240, 7, true}, {240, 15, false}, {0, 7, false}, {440, 7, false},
	} {
		if got := Sizeless(tc.app, tc.protocol); got != tc.want {
			t.Errorf("Sizeless(%d, %d) = %v, want %v", tc.app, tc.protocol, got, tc.want)
		}
	}
}

func TestBadPacketsAreRefused(t *testing.T) {
	for packet, want := range map[string]error{
		"":                                     ErrForeign,
		"\\status\\":                           ErrForeign,
		"\xFF\xFF\xFF\xFF":                     ErrMalformed,
		"\xFE\xFF\xFF\xFF":                     ErrMalformed,
		"\xFE\xFF\xFF\xFF\x01\x00\x00\x00":     ErrMalformed,
		"\xFE\xFF\xFF\xFF\x01\x00\x00\x00\x00": ErrMalformed, // no parts
		"\xFE\xFF\xFF\xFF\x01\x00\x00\x00\x22\x22":  ErrMalformed, // number 2 of 2 in either form
		"\xFE\xFF\xFF\xFF\x01\x00\x00\x00\x41\x00":  ErrTooMuch,   // 65 parts
		"\xFE\xFF\xFF\xFF\x01\x00\x00\x00\xFF\xFEx": ErrTooMuch,
	} {
		var a Assembly
		if _, whole, err := a.Add([]byte(packet)); whole || !errors.Is(err, want) || a.Size() > 0 {
			t.Errorf("Add(%q) = %v, %v, %d bytes held; want %v", packet, whole, err, a.Size(), want)
		}
	}
	var a Assembly
	if _, whole, err := a.Add([]byte("\xFE\xFF\xFF\xFF\x01\x00\x00\x00\x40\x3Fxx")); whole || err != nil {
		t.Errorf("part 63 of 64: %v, %v", whole, err)
	}
}

func TestSplitMessagesCutAnywhere(t *testing.T) {
	for name := range splits {
		packets := packetsOf(t, name)
		for i, p := range packets {
			for n := 0; n < len(p); n += max(1, n/32) { // every cut of a header, some of the rest
				var a Assembly
				for j, q := range packets {
					if j == i {
						q = q[:n:n]
					}
					m, whole, err := a.Add(q)
					if whole && err == nil && bytes.Equal(m.Body, bodyOf(t, "rules", KindRules)) {
						t.Fatalf("%s: part %d cut at %d makes the whole message", name, i, n)
					}
				}
			}
		}
	}
}

func TestTheLargestDatagramIsRead(t *testing.T) {
	const largest = 65507
	want := message("x", largest)
	var a Assembly
	m := assemble(t, &a, want)
	if !bytes.Equal(m.Body, want[5:]) {
		t.Errorf("a whole message of %d bytes: body of %d", largest, len(m.Body))
	}
	part := func(number byte, n int) []byte {
		return append(append(appendUint32(appendUint32(nil, headerSplit), 9), 3, number, 0xFF, 0xFF), make([]byte, n-12)...)
	}
	if _, whole, err := a.Add(part(0, largest)); whole || err != nil {
		t.Errorf("a part of %d bytes: %v, %v", largest, whole, err)
	}
	if _, whole, err := a.Add(part(1, largest)); whole || !errors.Is(err, ErrTooMuch) || a.Size() != 0 {
		t.Errorf("another: %v, %v, %d bytes held, want ErrTooMuch", whole, err, a.Size())
	}
}

func TestPacketsThatNoDatagramHolds(t *testing.T) {
	var a Assembly
	for name, p := range map[string][]byte{
		"single": message("x", MaxMessage+1),
		"part":   append([]byte("\xFE\xFF\xFF\xFF\x01\x00\x00\x00\x01\x00"), make([]byte, MaxMessage)...),
	} {
		if _, whole, err := a.Add(p); whole || !errors.Is(err, ErrTooMuch) || a.Size() > 0 {
			t.Errorf("%s: %v, %v, %d bytes held; want ErrTooMuch", name, whole, err, a.Size())
		}
	}
}

// The last part completes a message that is too long.
func TestWholeMessagesAreBounded(t *testing.T) {
	var a Assembly
	packets := split(t, Splitter{Format: Source, Size: MaxMessage/2 + 1}, message("x", MaxMessage+1))
	if _, _, err := a.Add(packets[0]); err != nil {
		t.Fatal(err)
	}
	if _, whole, err := a.Add(packets[1]); whole || !errors.Is(err, ErrTooMuch) || a.Size() > 0 {
		t.Errorf("%v, %v, %d bytes held; want ErrTooMuch", whole, err, a.Size())
	}
}

func TestCopiesOfPartsOfEitherForm(t *testing.T) {
	for _, s := range []Splitter{{Format: Source, Size: 10, Sizeless: true}, {Format: GoldSource, Size: 50}} {
		want := Message{KindRules, bytes.Repeat([]byte{1}, 175)}
		packets := split(t, s, append(appendHeader(nil, KindRules), want.Body...))
		slices.Reverse(packets)
		format, err := formatOf(packets[0][headerSize+idSize:])
		if format != 0 || err != nil {
			t.Fatalf("the last of %d parts is of format %d, %v; want either", len(packets), format, err)
		}
		var a Assembly
		if diff := cmp.Diff(want, assemble(t, &a, slices.Insert(packets, 1, packets[0], packets[0])...)); diff != "" {
			t.Errorf("%d parts (-want +got):\n%s", len(packets), diff)
		}
	}
}

func TestMessagesAreBounded(t *testing.T) {
	for size, want := range map[int]error{1014: nil, 1200: ErrTooMuch} { // of 64 parts with 10 bytes of heads
		var a Assembly
		s := Splitter{Format: Source, Size: size, Sizeless: true}
		var err error
		for _, p := range split(t, s, message("x", 64*size)) {
			if _, _, e := a.Add(p); e != nil {
				err = e
			}
			if a.Size() > MaxMessage {
				t.Fatalf("%d bytes held", a.Size())
			}
		}
		if !errors.Is(err, want) {
			t.Errorf("64 parts of %d bytes: %v, want %v", size, err, want)
		}
	}
	var a Assembly
	for id := range uint32(3) { // each alone is allowed
		packets := split(t, Splitter{Format: Source, ID: id, Size: 15000}, message("x", 45000))
		for _, p := range packets[:2] {
			if _, _, err := a.Add(p); err != nil || a.Size() > MaxMessage {
				t.Fatalf("message %d: %v, %d bytes held", id, err, a.Size())
			}
		}
	}
	if len(a.begun) != 2 || a.begun[0].id != 1 {
		t.Errorf("%d messages are held, want the last two", len(a.begun))
	}
}

// compressed returns the first and only packet of a compressed message.
func compressed(size, sum uint32, stream []byte) []byte {
	p := append(appendUint32(appendUint32(nil, headerSplit), 0x80000001), 1, 0, 0xE0, 0x04)
	return append(appendUint32(appendUint32(p, size), sum), stream...)
}

func TestCompressedMessagesAreChecked(t *testing.T) {
	rules, stream := packetOf(t, "rules"), compressedRules(t)
	size, sum := uint32(len(rules)), crc32.ChecksumIEEE(rules)
	endless := packetOf(t, "zeros.bz2") // 10,000,000 bytes
	for name, tc := range map[string]struct {
		packet []byte
		want   error
	}{
		"right":             {compressed(size, sum, stream), nil},
		"wrong checksum":    {compressed(size, sum+1, stream), ErrChecksum},
		"too short":         {compressed(size+1, sum, stream), ErrMalformed},
		"too long":          {compressed(size-1, crc32.ChecksumIEEE(rules[:size-1]), stream), ErrChecksum},
		"nothing":           {compressed(0, 0, stream), ErrChecksum},
		"4 GB":              {compressed(0xFFFFFFFF, sum, stream), ErrTooMuch},
		"a byte too large":  {compressed(MaxMessage+1, sum, stream), ErrTooMuch},
		"larger than it is": {compressed(MaxMessage, sum, stream), ErrMalformed},
		"a bomb":            {compressed(MaxMessage, crc32.ChecksumIEEE(make([]byte, MaxMessage)), endless), ErrMalformed},
		"cut":               {compressed(size, sum, stream[:100]), ErrMalformed},
		"a magic alone":     {compressed(size, sum, []byte("BZh")), ErrMalformed},
		"not bzip2":         {compressed(size, sum, []byte("PK\x03\x04zzzzzzzz")), ErrMalformed},
		"broken":            {compressed(size, sum, append(slices.Clone(stream[:60]), make([]byte, 100)...)), ErrMalformed},
	} {
		var a Assembly
		m, whole, err := a.Add(tc.packet)
		if !errors.Is(err, tc.want) || whole != (tc.want == nil) || a.Size() > 0 {
			t.Errorf("%s: %v, %v, %d bytes held; want %v", name, whole, err, a.Size(), tc.want)
		}
		if whole && !bytes.Equal(m.Body, rules[5:]) {
			t.Errorf("%s: body %q", name, m.Body)
		}
	}
}

// A block of bzip2 holds the fewest bytes if they are runs of four equal ones.
func TestTheLargestMessageFitsOneBlock(t *testing.T) {
	want := make([]byte, MaxMessage)
	for i := range want {
		want[i] = byte(i / 4 % 251)
	}
	stream := packetOf(t, "runs.bz2")
	head := binary.LittleEndian.AppendUint32(nil, MaxMessage)
	head = binary.LittleEndian.AppendUint32(head, crc32.ChecksumIEEE(want))
	got, err := unpack(append(head, stream...))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, error %v", len(got), err)
	}
	if stream[3] != '9' {
		t.Errorf("the stream was changed: %q", stream[:4])
	}
}

// Memory is taken for the content of a message and for one small block of bzip2,
// whatever size its sender states.
func TestClaimedSizesTakeNoMemory(t *testing.T) {
	rules := packetOf(t, "rules")
	for name, tc := range map[string]struct {
		packet []byte
		most   uint64
	}{
		"4 GB":        {compressed(0xFFFFFFFF, 0, compressedRules(t)), 8 << 10},
		"large block": {compressed(uint32(len(rules)), crc32.ChecksumIEEE(rules), compressedRules(t)), 1 << 20},
		"bomb":        {compressed(MaxMessage, 0, packetOf(t, "zeros.bz2")), 1 << 20},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var a Assembly
		_, _, err := a.Add(tc.packet)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > tc.most {
			t.Errorf("%s (%v): %d bytes are taken, want at most %d", name, err, took, tc.most)
		}
	}
}

// A flag of compression without a compressed message: some servers choose any id.
func TestHighIDsWithoutCompression(t *testing.T) {
	for _, s := range []Splitter{{Format: Source, Size: 300}, {Format: Source, Size: 300, Sizeless: true}} {
		packets := split(t, s, packetOf(t, "rules"))
		for _, p := range packets {
			p[7] |= 0x80
		}
		var a Assembly
		if diff := cmp.Diff(Message{KindRules, bodyOf(t, "rules", KindRules)}, assemble(t, &a, packets...)); diff != "" {
			t.Errorf("sizeless %v (-want +got):\n%s", s.Sizeless, diff)
		}
	}
}

func TestUnsplittableMessages(t *testing.T) {
	for name, tc := range map[string]struct {
		s Splitter
		n int
	}{
		"16 parts of GoldSource": {Splitter{Format: GoldSource, Size: 10}, 151},
		"256 parts of Source":    {Splitter{Format: Source, Size: 10}, 2551},
		"nothing":                {Splitter{Format: Source}, 0},
		"large packets":          {Splitter{Format: Source, Size: 0xFFFF}, 10},
	} {
		if got, err := tc.s.Split(make([]byte, tc.n)); !errors.Is(err, ErrUnsplittable) {
			t.Errorf("%s: %d packets, error %v", name, len(got), err)
		}
		if tc.n > 100 {
			if _, err := tc.s.Split(make([]byte, tc.n-1)); err != nil {
				t.Errorf("%s, a byte less: %v", name, err)
			}
		}
	}
	packets := split(t, Splitter{Format: Source}, make([]byte, DefaultSplit+1))
	if len(packets) != 2 || len(packets[0]) != DefaultSplit+12 {
		t.Errorf("by default: %d packets, the first of %d bytes", len(packets), len(packets[0]))
	}
}

func BenchmarkAssembly(b *testing.B) {
	for name := range splits {
		packets := packetsOf(b, name)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var a Assembly
				for _, p := range packets {
					if _, _, err := a.Add(p); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
