package webhook

import (
	"bytes"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/web/webtest"
)

// TestOpenAPI compares requests in format JSON with the description of the API.
func TestOpenAPI(t *testing.T) {
	text, err := os.ReadFile("../web/api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	d := webtest.ReadDocument(t, text)
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	until := now.Add(time.Hour)
	events := []Event{
		{Kind: ServerUp, Server: server(t, "Inn", "deck")},
		{Kind: BanAdded, Ban: describeBan(storage.Ban{Prefix: netip.MustParsePrefix("192.0.2.0/24"), Scope: storage.ScopeLists, Added: now, Expires: until})},
		{Kind: RoomUp, Room: &Room{Channel: "#GPG!12", Kind: "group", Game: "gmtest", Title: "Test", Name: "Twelve"}},
		{Kind: ChatBanned, ChatBan: &ChatBan{Profile: 7, Expires: &until}},
		{Kind: ChatBanned, ChatBan: &ChatBan{Prefix: "192.0.2.7/32"}},
		{Kind: Said, Line: &Line{Nick: "Ann", Text: "hello"}},
	}
	for i := range kindNames() { // all kinds are described
		events = append(events, Event{Kind: Kind(i)})
	}
	for i := range events {
		events[i].Time = now
	}
	body := delivery{ID: "1", Time: now, Hook: "bot", Events: events}.encode()
	post := d.At(d.At(d.At(d.Root["webhooks"])["events"])["post"])
	content := d.At(d.At(post["requestBody"])["content"])
	d.Check("request", "request", d.At(content["application/json"])["schema"], webtest.Decode[any](t, bytes.NewReader(body)))
	if missing := d.Unseen(func(schema string) bool { return strings.HasPrefix(schema, "Webhook") }); len(missing) > 0 {
		t.Errorf("described and never sent: %q", missing)
	}
	kinds := d.At(d.At(d.At(d.At(d.At(d.Root["components"])["schemas"])["WebhookEvent"])["properties"])["type"])["enum"].([]any)
	if len(kinds) != len(kindNames()) {
		t.Errorf("%d kinds are described, want %d", len(kinds), len(kindNames()))
	}
	headers := d.Parameters(post, "header")
	const stamp = "1893553445"
	for name, value := range map[string]string{HeaderTimestamp: stamp, HeaderSignature: Sign("secret", stamp, body)} {
		h, ok := headers[name]
		if !ok {
			t.Errorf("header %s is not described", name)
			continue
		}
		d.Check(name, name, h["schema"], value)
	}
}
