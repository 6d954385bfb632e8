package web

import (
	"errors"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

func TestGamePageRecords(t *testing.T) {
	const row = `<tr><td class="num">1</td><th scope="row"><span class="text"><a href="/players/1"><bdi>Ann &lt;b&gt;</bdi></a></span></th>` +
		`<td><span class="text"><bdi>The &lt;A&gt; level</bdi></span></td><td><span class="text"><bdi>0</bdi></span></td>` +
		`<td><span class="text"><bdi>6 bytes</bdi></span></td></tr>`
	never := []string{"notes", "Hidden", "binary<", "<A>", "<caption><bdi>empty"}
	f, _ := withStats(t, false)
	wantTexts(t, "page of the game", f.Get("/games/gmtest").Body.String(), []string{
		"Records of players", "<caption><bdi>Levels</bdi></caption>", `<th scope="col"><bdi>score</bdi></th>`, row, "Third",
		`<a href="/api/v1/games/gmtest/tables/Levels">`,
	}, never)
	wantTexts(t, "page of another game", f.Get("/games/gmother").Body.String(), nil, []string{"Records of players"})

	f, _ = withStats(t, true)
	wantTexts(t, "page with private accounts", f.Get("/games/gmtest").Body.String(), []string{
		`<td class="num">1</td><th scope="row"><span class="text"><bdi>Ann &lt;b&gt;</bdi></span></th>`,
	}, append(never, row))

	many, data := withStats(t, false)
	for i := range 20 {
		more := data.Records[1]
		more.ID = uint32(100 + i)
		more.Fields = []storage.SakeField{{Name: "Score", Value: storage.SakeValue{Type: storage.SakeInt, Num: int64(1000 + i)}}}
		data.Records = append(data.Records, more)
	}
	wantTexts(t, "page with many records", many.Get("/games/gmtest").Body.String(), []string{"<bdi></bdi></span></td><td><span class=\"text\"><bdi>1006</bdi>"}, []string{"1007"})

	f, data = withStats(t, false)
	data.Err = errors.New("disk on fire")
	wantTexts(t, "page without a readable store", f.Get("/games/gmtest").Body.String(), []string{"How to connect"}, []string{"Records of players", "fire"})
}
