/* Layers after the sum, for many texts at a time: products of matrices of float32.

   A weight is copied into panels when it is loaded, so that a product reads it from its first number to its last. Each
   number of a result is added up in the order of the inputs, however many texts there are, so that the vector of a text
   does not depend on the texts beside it. */

#include "core.h"

#include <stdlib.h>
#include <string.h>

static size_t padded(size_t columns)
{
    return (columns + PANEL - 1) / PANEL * PANEL;
}

/* Copy a weight, (rows, columns), into panels; NULL without memory. */
float *new_panels(const float *weight, size_t rows, size_t columns)
{
    float *panels = calloc(rows * padded(columns), sizeof *panels);
    for (size_t column = 0; panels && column < columns; column++) {
        float *panel = panels + column / PANEL * PANEL * rows;
        for (size_t row = 0; row < rows; row++)
            panel[row * PANEL + column % PANEL] = weight[row * columns + column];
    }
    return panels;
}

void layer_free(Layer *layer)
{
    if (!layer)
        return;
    free(layer->widen);
    free(layer->narrow);
    free(layer->bias);
    free(layer);
}

int rows_new(Rows *rows, const Layer *layer)
{
    rows->inputs = malloc(LAYER_ROWS * padded(layer->inputs) * sizeof *rows->inputs);
    rows->units = malloc(LAYER_ROWS * padded(layer->units + 1) * sizeof *rows->units);
    rows->outputs = malloc(LAYER_ROWS * padded(layer->outputs) * sizeof *rows->outputs);
    return rows->inputs && rows->units && rows->outputs ? 0 : -1;
}

void rows_free(Rows *rows)
{
    free(rows->inputs);
    free(rows->units);
    free(rows->outputs);
}

float *rows_next(Rows *rows, const Layer *layer)
{
    return rows->inputs + rows->filled++ * padded(layer->inputs);
}

/* s + relu(s A) B, in the place of s. */
static void deepen(Rows *rows, const Layer *layer, const Kernels *kernels, size_t width)
{
    size_t stride = padded(layer->inputs), units = padded(layer->units);
    for (size_t row = 0; row < rows->filled; row++) /* the columns that fill up the last panel */
        memset(rows->inputs + row * stride + layer->inputs, 0, (stride - layer->inputs) * sizeof(float));
    memset(rows->units, 0, rows->filled * units * sizeof(float));
    kernels->add_product(rows->inputs, stride, rows->filled, layer->inputs, layer->widen, units, rows->units, units);
    kernels->clip(rows->units, rows->filled * units);
    kernels->add_product(rows->units, units, rows->filled, layer->units, layer->narrow, padded(width), rows->inputs,
                         stride);
}

/* m W + b. */
static void transform(Rows *rows, const Layer *layer, const Kernels *kernels, size_t width)
{
    size_t stride = padded(layer->outputs);
    for (size_t row = 0; row < rows->filled; row++) {
        float *output = rows->outputs + row * stride;
        memcpy(output, layer->bias, layer->outputs * sizeof *output);
        memset(output + layer->outputs, 0, (stride - layer->outputs) * sizeof *output);
    }
    kernels->add_product(rows->inputs, padded(layer->inputs), rows->filled, layer->inputs, layer->narrow, padded(width),
                         rows->outputs, stride);
}

const float *rows_finish(Rows *rows, const Layer *layer, const Kernels *kernels, size_t width, size_t *stride)
{
    if (layer->units)
        deepen(rows, layer, kernels, width);
    else
        transform(rows, layer, kernels, width);
    rows->filled = 0;
    *stride = padded(layer->units ? layer->inputs : layer->outputs);
    return layer->units ? rows->inputs : rows->outputs;
}
