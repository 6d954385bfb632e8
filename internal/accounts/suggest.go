package accounts

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// maxSuggestTries bounds the look-ups of one call of Suggest.
const maxSuggestTries = 24

// Suggest returns up to n free unique nicks similar to wish, wish itself first
// if it is free. There may be none.
func (s *Profiles) Suggest(ctx context.Context, namespace int, wish string, n int) ([]string, error) {
	if namespace <= 0 || n <= 0 {
		return nil, nil
	}
	var found []string
	for _, candidate := range candidates(namespace, wish) {
		err := s.CheckUniqueNick(ctx, namespace, candidate)
		if err == nil {
			found = append(found, candidate)
		} else if _, refused := errors.AsType[Refusal](err); !refused {
			return nil, err
		}
		if len(found) >= n {
			break
		}
	}
	return found, nil
}

// candidates returns the wish, the wish without forbidden characters, and that
// followed by numbers, maxSuggestTries in all.
func candidates(namespace int, wish string) []string {
	base := legalPart(namespace, wish)
	all := slices.Compact([]string{wish, base})
	for i := 1; len(all) < maxSuggestTries; i++ {
		suffix := strconv.Itoa(i)
		if i == 3 {
			suffix = strconv.Itoa(time.Now().Year())
		}
		all = append(all, base[:min(len(base), storage.MaxUniqueNick-len(suffix))]+suffix)
	}
	return all
}

// legalPart returns the characters of a wish that the rules of a namespace
// allow, with a prefix if it could not begin with them.
func legalPart(namespace int, wish string) string {
	legal := make([]byte, 0, len(wish))
	for i := range len(wish) {
		if allows(namespace, wish[i]) {
			legal = append(legal, wish[i])
		}
	}
	base := strings.TrimLeft(string(legal), "@+#:")
	if base == "" {
		base = "Player"
	}
	if isDigit(base[0]) {
		base = "x" + base
	}
	return base[:min(len(base), storage.MaxUniqueNick)]
}
