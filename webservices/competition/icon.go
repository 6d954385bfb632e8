package competition

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"net/http"
	"strconv"

	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/query"
	"github.com/respawnd/respawnd/webservices/soap"
)

// icons are the pages with the pictures of the levels of players. The pictures of the games' maker are
// not part of this program: these show the number alone.
var icons = []struct{ host, path, game string }{
	{"redalert3services.{d}", "/GetPlayerRankIcon.aspx", "redalert3pc"},
	{"psweb.{d}", "/CC3Services/GetPlayerRankIcon.aspx", "cc3tibwars"},
	{"psweb.{d}", "/KWServices/KWGetPlayerRankIcon.aspx", "cc3xp1"},
}

// iconPages returns the pages of icons. A request names the player with pid, or the level with ro.
func (backend *Backend) iconPages() (all []soap.Page) {
	for _, i := range icons {
		all = append(all, soap.Page{
			Name: "competition.icon_" + i.game, Hosts: []string{i.host}, Path: i.path,
			Serve: func(w http.ResponseWriter, r *http.Request, _ *soap.Request) { backend.serveIcon(w, r, i.game) },
		})
	}
	return all
}

func (backend *Backend) serveIcon(w http.ResponseWriter, r *http.Request, game string) {
	text, _ := query.Get(r.URL.RawQuery, "ro")
	level, _ := strconv.Atoi(text) // 0 for a text that is no number
	if level < 1 || level > len(stats.Levels) {
		text, _ = query.Get(r.URL.RawQuery, "pid")
		who, _ := strconv.ParseUint(text, 10, 31)
		var s storage.Score
		if who != 0 {
			var err error
			s, err = backend.opt.Store.RankOf(r.Context(), storage.ScoreID{Game: game, Board: stats.CareerBoard, Profile: storage.ProfileID(who)})
			if err != nil && !errors.Is(err, storage.ErrNotFound) {
				fault.Log(backend.opt.Log, err).Err(err).Msg("a level cannot be read")
				http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
				return
			}
		}
		level = stats.LevelOf(s.Value)
	}
	body := drawLevel(level)
	w.Header().Set("Content-Type", "image/png")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // if it fails, the client is gone
}

// glyphs are the digits, three bits in each of five rows, from the top.
var glyphs = [10]uint16{0o75557, 0o26227, 0o71747, 0o71717, 0o55711, 0o74717, 0o74757, 0o71244, 0o75757, 0o75717}

// Sizes of an icon in pixels.
const (
	iconSize = 64
	dotSize  = 8
)

// drawLevel returns a picture of a level.
func drawLevel(level int) []byte {
	p := image.NewPaletted(image.Rect(0, 0, iconSize, iconSize), color.Palette{color.Black, color.RGBA{0xE0, 0xB0, 0x30, 0xFF}})
	digits := strconv.Itoa(level)
	left, top := (iconSize-(4*len(digits)-1)*dotSize)/2, (iconSize-5*dotSize)/2
	for i := range digits {
		for bit := range 15 {
			if glyphs[digits[i]-'0']>>(14-bit)&1 != 0 {
				x, y := left+(4*i+bit%3)*dotSize, top+bit/3*dotSize
				draw.Draw(p, image.Rect(x, y, x+dotSize, y+dotSize), image.NewUniform(p.Palette[1]), image.Point{}, draw.Src)
			}
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, p) // a buffer takes everything
	return b.Bytes()
}
