/* The vocabulary in a tokenizer.json: an object of tokens and their ids, in the order of the ids.

   Only what tokenizers write is read: {"[UNK]":0,"the":1,...}, blanks allowed. Anything else ends the reading, and a
   parser of JSON decides. That the bytes are UTF-8 is for the caller to know. */

#include "core.h"

#include <string.h>

enum { LONGEST_TOKEN = 512, DIGITS = 9 };

static int is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

/* Return the next byte that is no blank, and step over it; 0 at the end. */
static uint8_t next_sign(TokenReader *reader)
{
    while (reader->at < reader->end && is_blank(*reader->at))
        reader->at++;
    return reader->at < reader->end ? *reader->at++ : 0;
}

/* Read four hexadecimal digits; returns -1 for any others. */
static int32_t hexadecimal(TokenReader *reader)
{
    int32_t code = 0;
    if (reader->end - reader->at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        uint8_t digit = *reader->at++, letter = digit | 32;
        if (digit >= '0' && digit <= '9')
            code = code * 16 + digit - '0';
        else if (letter >= 'a' && letter <= 'f')
            code = code * 16 + letter - 'a' + 10;
        else
            return -1;
    }
    return code;
}

/* Read the code point after \u; returns -1 for a lone surrogate, and for NUL, which no text has. */
static int32_t code_point(TokenReader *reader)
{
    int32_t code = hexadecimal(reader), low;
    if (code < 0xD800 || code > 0xDFFF)
        return code > 0 ? code : -1;
    if (code > 0xDBFF || reader->end - reader->at < 2 || reader->at[0] != '\\' || reader->at[1] != 'u')
        return -1;
    reader->at += 2;
    low = hexadecimal(reader);
    return low < 0xDC00 || low > 0xDFFF ? -1 : 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
}

static void append(TokenReader *reader, int32_t byte)
{
    reader->token[reader->length++] = (uint8_t)byte;
}

static void append_code(TokenReader *reader, int32_t code)
{
    if (code < 0x80) {
        append(reader, code);
        return;
    }
    if (code < 0x800) {
        append(reader, 0xC0 | code >> 6);
    } else {
        if (code < 0x10000) {
            append(reader, 0xE0 | code >> 12);
        } else {
            append(reader, 0xF0 | code >> 18);
            append(reader, 0x80 | (code >> 12 & 0x3F));
        }
        append(reader, 0x80 | (code >> 6 & 0x3F));
    }
    append(reader, 0x80 | (code & 0x3F));
}

/* Append what an escape stands for; returns -1 if it is none. */
static int append_escape(TokenReader *reader)
{
    static const char written[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    uint8_t sign = reader->at < reader->end ? *reader->at++ : 0;
    const char *found = sign ? strchr(written, sign) : NULL;
    int32_t code = found ? meant[found - written] : sign == 'u' ? code_point(reader) : -1;
    if (code < 0)
        return -1;
    append_code(reader, code);
    return 0;
}

/* Read a string after its first quotation mark; returns -1 for an empty or a long one, and for a control character. */
static int read_string(TokenReader *reader)
{
    reader->length = 0;
    while (reader->at < reader->end && reader->length < LONGEST_TOKEN) {
        uint8_t byte = *reader->at++;
        if (byte == '"')
            return reader->length ? 0 : -1;
        if (byte < ' ' || (byte == '\\' && append_escape(reader) < 0))
            return -1;
        if (byte != '\\')
            append(reader, byte);
    }
    return -1;
}

/* Read the number of the token; returns -1 for any other. */
static int read_id(TokenReader *reader)
{
    int32_t id = 0;
    const uint8_t *first;
    while (reader->at < reader->end && is_blank(*reader->at))
        reader->at++;
    for (first = reader->at; reader->at < reader->end && reader->at - first < DIGITS; reader->at++) {
        if (*reader->at < '0' || *reader->at > '9')
            break;
        id = id * 10 + (*reader->at - '0');
    }
    return reader->at == first || (*first == '0' && reader->at - first > 1) || id != reader->count ? -1 : 0;
}

/* Read the next token, and its id, which is `count` before the call. Returns 1, 0 after the last one, or -1. */
int next_token(TokenReader *reader)
{
    uint8_t sign = next_sign(reader);
    if (reader->count < 0) { /* none yet */
        if (sign != '{')
            return -1;
        reader->count = 0;
        sign = next_sign(reader);
    } else if (sign == ',') {
        sign = next_sign(reader);
    } else {
        return sign == '}' ? 0 : -1;
    }
    if (sign != '"' || read_string(reader) < 0 || next_sign(reader) != ':' || read_id(reader) < 0)
        return -1;
    reader->count++;
    return 1;
}
