package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/web/front"
)

// Bounds of the folder of pictures.
const (
	maxPictures    = 1024 // files
	maxPictureSize = 256 << 10
)

// pictureEndings are the endings of files that are looked at. Their content decides what they are
// served as.
var pictureEndings = []string{".gif", ".jpeg", ".jpg", ".png", ".webp"}

// pictureTypes are the kinds of pictures that are served. SVG is none: it can have scripts.
var pictureTypes = []string{"image/gif", "image/jpeg", "image/png", "image/webp"}

// errPicture reports a file that is not served.
var errPicture = fmt.Errorf("not a GIF, JPEG, PNG or WebP picture of at most %d KiB that is named after a game, such as ut.png", maxPictureSize>>10)

// picture is a file that the operator gave a game.
type picture struct {
	file    string // name in the folder
	version string // changes with the file
}

// pictures are the pictures of games as they were found in the folder.
type pictures struct {
	dir     string
	of      map[string]picture // by name of the game in lower case
	refused []error            // of files that are not served
}

// scanPictures looks for the pictures in a folder; an empty path is none.
func scanPictures(dir string) (*pictures, error) {
	p := &pictures{dir: dir}
	if dir == "" {
		return p, nil
	}
	folder, err := os.Open(dir)
	if err != nil {
		return p, err
	}
	defer func() { _ = folder.Close() }()
	entries, err := folder.ReadDir(maxPictures + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return p, err
	}
	if len(entries) > maxPictures {
		p.refused = append(p.refused, fmt.Errorf("more than %d files, of which the rest is left out", maxPictures))
		entries = entries[:maxPictures]
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	p.of = make(map[string]picture, len(entries))
	for _, e := range entries {
		name, ok := pictureName(e.Name())
		if _, twice := p.of[name]; ok && !twice && e.Type().IsRegular() {
			if body, _, err := p.read(e.Name()); err == nil {
				p.of[name] = picture{e.Name(), strings.Trim(front.ContentTag(body), `"`)}
				continue
			}
		}
		p.refused = append(p.refused, fmt.Errorf("%q: %w", e.Name(), errPicture))
	}
	return p, nil
}

// pictureName returns the game of a file, in lower case.
func pictureName(file string) (name string, ok bool) {
	ending := filepath.Ext(file)
	return strings.ToLower(strings.TrimSuffix(file, ending)), slices.Contains(pictureEndings, strings.ToLower(ending))
}

// read returns a file of the folder and its type.
func (p *pictures) read(file string) (body []byte, format string, err error) {
	f, err := os.OpenInRoot(p.dir, file)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxPictureSize {
		return nil, "", errPicture
	}
	body, err = io.ReadAll(io.LimitReader(f, maxPictureSize+1)) // it may grow meanwhile
	if format = http.DetectContentType(body); err == nil && (len(body) > maxPictureSize || !slices.Contains(pictureTypes, format)) {
		err = errPicture
	}
	return body, format, err
}

// gallery has the present pictures.
type gallery struct {
	now     atomic.Pointer[pictures] // never nil
	version atomic.Uint64            // changes with them
}

// loadPictures looks for the pictures again. It keeps those of before if the folder cannot be read.
func (s *Server) loadPictures(dir string) {
	p, err := scanPictures(dir)
	if err != nil {
		s.Log().Error().Err(err).Str("key", "web.pictures").Msg("the pictures of games cannot be read")
		return
	}
	if len(p.refused) > 0 {
		s.Log().Warn().Err(p.refused[0]).Int("files", len(p.refused)).Str("key", "web.pictures").Msg("files in the folder of pictures are not served")
	}
	s.gallery.now.Store(p)
	s.gallery.version.Add(1)
	if list := s.api.Shown(); list != nil {
		s.renew(list)
	}
}

// pictureOf returns the picture of a game or, if it has none, of the game whose other name it is.
func (p *pictures) pictureOf(names ...string) (picture, bool) {
	for _, name := range names {
		if found, ok := p.of[strings.ToLower(name)]; ok {
			return found, true
		}
	}
	return picture{}, false
}

// picture returns the present pictures, and that of a game.
func (s *Server) picture(game string) (from *pictures, p picture, ok bool) {
	from = s.gallery.now.Load()
	if len(from.of) == 0 {
		return from, p, false
	}
	base, _ := s.opt.Games.Base(game)
	p, ok = from.pictureOf(game, base.Name)
	return from, p, ok
}

// pictureURL returns the address of the picture of a game, "" if it has none.
func (s *Server) pictureURL(game string) string {
	_, p, ok := s.picture(game)
	if !ok {
		return ""
	}
	return s.gameURL(game) + "/picture?v=" + p.version
}

// servePicture answers /games/{name}/picture.
func (s *Server) servePicture(w http.ResponseWriter, r *http.Request) {
	from, p, ok := s.picture(r.PathValue("name"))
	var body []byte
	var format string
	if ok {
		var err error
		body, format, err = from.read(p.file)
		ok = err == nil
	}
	if !ok {
		s.Fail(w, r, http.StatusNotFound, "there is no picture of that game here")
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=86400")
	if !front.NotModified(w, r, front.ContentTag(body)) {
		s.Send(w, r, format, front.NewAnswer(body))
	}
}

// checkPictures implements service.Descriptor.Check.
func (c *Config) checkPictures(_ string, when service.Moment) error {
	p, err := scanPictures(c.Pictures)
	if err == nil && when == service.OnCommand {
		err = errors.Join(p.refused...)
	}
	if err != nil {
		return &service.KeyError{Key: "web.pictures", Err: err}
	}
	return nil
}
