#ifndef HANEKE_H
#define HANEKE_H
#endif
