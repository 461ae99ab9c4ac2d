package endpoints

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
)

// sealed is what the bucket holds of an endpoint whose definition is encrypted.
type sealed struct {
	Key    string `json:"key"`    // which one: see keyName
	Sealed []byte `json:"sealed"` // nonce, definition and tag: AES-256-GCM (NIST SP 800-38D)
}

// sealKey encrypts definitions. The name of the endpoint is authenticated with
// each, so that none can be put in the place of another.
type sealKey struct {
	name string
	aead cipher.AEAD
}

// keyName names a key without telling it: eight hexadecimal digits of its SHA-256.
func keyName(key []byte) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:4])
}

// sealKeys returns the keys of a configuration, which has been checked: the one that
// encrypts first, none when definitions stand in plain.
func sealKeys(c *config.Config) []sealKey {
	var all []sealKey
	for _, key := range c.Encryption.Keys() {
		block, err := aes.NewCipher(key)
		if err != nil {
			continue // of another length, which the checks have found
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			continue // GCM takes every AES
		}
		all = append(all, sealKey{keyName(key), aead})
	}
	return all
}

// encode returns what the bucket is to hold of an endpoint.
func (m *Manager) encode(doc *document) ([]byte, error) {
	plain, err := json.Marshal(doc)
	if err != nil || len(m.keys) == 0 {
		return plain, err
	}
	key := m.keys[0]
	return json.Marshal(sealed{key.name, key.aead.Seal(nil, nil, plain, []byte(doc.Name))})
}

// Errors of what the bucket holds; none quotes it.
var (
	errUnreadable = &config.Error{What: "its definition is not readable as JSON", Hint: "remove it and add it again"}
	errTampered   = &config.Error{What: "its definition does not come from its key, or is that of another endpoint", Hint: "remove it and add it again"}
)

// decode reads what the bucket holds of an endpoint, encrypted or in plain, and
// returns the name of the key, "" for plain.
func (m *Manager) decode(name string, value []byte) (doc document, key string, err error) {
	var s sealed
	if json.Unmarshal(value, &s) != nil {
		return doc, "", errUnreadable
	}
	if s.Sealed != nil {
		if value, err = m.unseal(name, s); err != nil {
			return doc, s.Key, err
		}
	}
	if json.Unmarshal(value, &doc) != nil {
		return document{}, s.Key, errUnreadable
	}
	return doc, s.Key, nil
}

func (m *Manager) unseal(name string, s sealed) ([]byte, error) {
	at := slices.IndexFunc(m.keys, func(k sealKey) bool { return k.name == s.Key })
	if at < 0 {
		return nil, &config.Error{
			Path: "encryption", What: fmt.Sprintf("its definition is encrypted with key %s, which is not configured", s.Key),
			Hint: "give that key as encryption.key, or among encryption.previous_keys",
		}
	}
	plain, err := m.keys[at].aead.Open(nil, nil, s.Sealed, []byte(name))
	if err != nil {
		return nil, errTampered
	}
	return plain, nil
}

// Seal encrypts with the present key the definitions that are in plain or under an
// earlier key, and returns how many these were; without a key it does nothing. Those
// that cannot be read stay as they are. It may be called again after an error.
func (m *Manager) Seal(ctx context.Context) (n int, err error) {
	if len(m.keys) == 0 {
		return 0, nil
	}
	documents, err := m.log.ListEndpoints(ctx)
	if err != nil {
		return 0, err
	}
	for _, d := range documents {
		doc, key, broken := m.decode(d.Name, d.Value)
		if broken != nil || doc.Phase != "" || key == m.keys[0].name {
			continue
		}
		failed := m.change(ctx, d.Name, func(*Definition) error { return nil })
		if errors.Is(failed, ErrUnknown) { // it was removed meanwhile
			continue
		}
		if failed == nil {
			n++
		}
		err = errors.Join(err, of(d.Name, failed))
	}
	return n, err
}
