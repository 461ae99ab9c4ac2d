package diff

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/schema"
)

// Before rebuilds the order as it was before the event, from the event alone.
// For a created event there is nothing before: it returns false. The result
// equals the earlier order in value; where only the writing of a field differed
// (12.5 and "12.50"), it has the later writing.
func Before(e *schema.Event) (schema.Order, bool, error) {
	if e.Data.Version <= 1 {
		return schema.Order{}, false, nil
	}
	raw, err := json.Marshal(e.Data.Order)
	if err != nil {
		return schema.Order{}, false, fmt.Errorf("encode order: %w", err)
	}
	object := members(raw)
	for _, c := range e.Data.Changes {
		if err := undo(object, c); err != nil {
			return schema.Order{}, false, err
		}
	}
	raw, err = json.Marshal(object)
	if err != nil {
		return schema.Order{}, false, fmt.Errorf("encode order: %w", err)
	}
	o, err := schema.ParseOrder(raw)
	return o, err == nil, err
}

// undo sets what a change names back to its From.
func undo(object map[string]jsontext.Value, c schema.Change) error {
	path, ok := strings.CutPrefix(c.Path, "/")
	if !ok {
		return fmt.Errorf("change path %q is no JSON Pointer", c.Path)
	}
	tokens := strings.Split(path, "/")
	switch {
	case len(tokens) == 1:
		set(object, tokens[0], c.From)
		return nil
	case len(tokens) == 3 && tokens[0] == "Details":
		return undoLine(object, tokens[1], tokens[2], c.From)
	default:
		return fmt.Errorf("change path %q leads nowhere in an order", c.Path)
	}
}

func undoLine(object map[string]jsontext.Value, index, name string, from jsontext.Value) error {
	var lines []map[string]jsontext.Value
	if err := json.Unmarshal(object["Details"], &lines); err != nil {
		return fmt.Errorf("order lines: %w", err)
	}
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= len(lines) {
		return fmt.Errorf("change names line %q of %d", index, len(lines))
	}
	set(lines[i], name, from)
	encoded, err := json.Marshal(lines)
	if err != nil {
		return fmt.Errorf("encode order lines: %w", err)
	}
	object["Details"] = encoded
	return nil
}

func set(object map[string]jsontext.Value, token string, v jsontext.Value) {
	name := strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
	if v == nil {
		delete(object, name)
		return
	}
	object[name] = v
}
