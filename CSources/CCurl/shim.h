/* libcurl for Swift. Swift can't call variadic functions, so each kind of option and of information has a typed
 * function here; nothing else belongs in this file. The caller passes the kind that curl's manual names for it. */
#ifndef HANEKE_CCURL_SHIM_H
#define HANEKE_CCURL_SHIM_H

#include <curl/curl.h>

static inline CURLcode hnk_curl_set_long(CURL *easy, CURLoption option, long value)
{
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode hnk_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value)
{
    return curl_easy_setopt(easy, option, value);
}

/* libcurl copies the text. */
static inline CURLcode hnk_curl_set_text(CURL *easy, CURLoption option, const char *value)
{
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode hnk_curl_set_pointer(CURL *easy, CURLoption option, void *value)
{
    return curl_easy_setopt(easy, option, value);
}

/* libcurl borrows the list until the transfer has ended. */
static inline CURLcode hnk_curl_set_list(CURL *easy, CURLoption option, struct curl_slist *value)
{
    return curl_easy_setopt(easy, option, value);
}

/* CURLOPT_WRITEFUNCTION, CURLOPT_HEADERFUNCTION and CURLOPT_READFUNCTION share this type. */
typedef size_t (*hnk_curl_data_function)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode hnk_curl_set_data_function(CURL *easy, CURLoption option, hnk_curl_data_function function)
{
    return curl_easy_setopt(easy, option, function);
}

static inline CURLcode hnk_curl_set_seek_function(CURL *easy, curl_seek_callback function)
{
    return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, function);
}

static inline CURLcode hnk_curl_set_prereq_function(CURL *easy, curl_prereq_callback function)
{
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, function);
}

static inline CURLcode hnk_curl_get_long(CURL *easy, CURLINFO info, long *out_value)
{
    return curl_easy_getinfo(easy, info, out_value);
}

static inline CURLcode hnk_curl_get_offset(CURL *easy, CURLINFO info, curl_off_t *out_value)
{
    return curl_easy_getinfo(easy, info, out_value);
}

static inline CURLMcode hnk_curl_multi_set_long(CURLM *multi, CURLMoption option, long value)
{
    return curl_multi_setopt(multi, option, value);
}

#endif
